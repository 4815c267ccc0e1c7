// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// Tells open pages that something changed; they fetch what they need themselves.

const open = new Set();

export function follow(response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 1000\n\n");
  open.add(response);
  response.on("close", () => open.delete(response));
}

export function announce() {
  for (const response of open) response.write("data: changed\n\n");
}

setInterval(() => {
  for (const response of open) response.write(": still here\n\n");
}, 15_000).unref();
