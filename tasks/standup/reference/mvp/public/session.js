// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// Who is here: the join form for strangers, the page and live updates for members.
import { attempt, call, part } from "./shared.js";

part("join-form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(part("join-problem"), async () => {
    await call("POST", "/api/join", { name: part("name").value });
    window.location.reload();
  });
});

part("leave").addEventListener("click", async () => {
  await call("POST", "/api/leave");
  window.location.assign("/");
});

export async function enter(refresh) {
  const { name } = await call("GET", "/api/me");
  if (!name) {
    part("join").hidden = false;
    part("name").focus();
    return;
  }
  part("me").textContent = name;
  await refresh();
  part("account").hidden = false;
  part("page").hidden = false;
  const events = new EventSource("/api/events");
  events.addEventListener("message", refresh);
  events.addEventListener("open", refresh);
}
