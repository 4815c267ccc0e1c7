// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { checkDoodle, checkOrder, Problem } from "./rules.js";
import * as store from "./store.js";

const MAX_BODY = 4 * 1024 * 1024;
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const FILES = ["book.js", "draw.js", "shared.js", "style.css", "icon.svg"];

async function readJson(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Problem(413, "This drawing is too large.");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Problem(400, "That was not JSON.");
  }
}

function sendJson(response, status, value) {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(value));
}

async function sendFile(response, name, status = 200) {
  const body = await readFile(new URL(`public/${name}`, import.meta.url));
  const type = TYPES[name.split(".").pop()];
  response.writeHead(status, {
    "content-type": `${type}; charset=utf-8`,
    "cache-control": "no-store",
  });
  response.end(body);
}

async function known(promise) {
  const found = await promise;
  if (!found) throw new Problem(404, "There is no such doodle.");
  return found;
}

async function api(request, response, path) {
  const id = Number(path.match(/^\/api\/doodles\/(\d{1,9})$/)?.[1]);
  const call = `${request.method} ${id ? "/api/doodles/:id" : path}`;
  switch (call) {
    case "GET /api/doodles":
      return sendJson(response, 200, await store.list());
    case "POST /api/doodles":
      return sendJson(response, 201, await store.add(checkDoodle(await readJson(request))));
    case "PUT /api/order":
      await store.arrange(checkOrder(await readJson(request)));
      return sendJson(response, 200, await store.list());
    case "GET /api/doodles/:id":
      return sendJson(response, 200, await known(store.find(id)));
    case "PUT /api/doodles/:id": {
      const doodle = checkDoodle(await readJson(request));
      return sendJson(response, 200, await known(store.change(id, doodle)));
    }
    case "DELETE /api/doodles/:id":
      await known(store.remove(id));
      return sendJson(response, 200, {});
    default:
      throw new Problem(404, "There is nothing here.");
  }
}

async function handle(request, response) {
  const path = new URL(request.url, "http://app").pathname;
  if (path.startsWith("/api/")) return api(request, response, path);
  if (request.method !== "GET" && request.method !== "HEAD") throw new Problem(405, "Not allowed.");
  if (path === "/") return sendFile(response, "book.html");
  if (path === "/doodles/new") return sendFile(response, "draw.html");
  const id = path.match(/^\/doodles\/(\d{1,9})$/)?.[1];
  if (id) return sendFile(response, "draw.html", (await store.find(Number(id))) ? 200 : 404);
  if (path === "/favicon.ico") return sendFile(response, "icon.svg");
  if (FILES.includes(path.slice(1))) return sendFile(response, path.slice(1));
  throw new Problem(404, "There is nothing here.");
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    if (!(error instanceof Problem)) console.error(error);
    if (response.headersSent) return response.destroy();
    const problem = error instanceof Problem ? error : new Problem(500, "Something went wrong.");
    return sendJson(response, problem.status, { error: problem.message });
  });
});

const port = Number(process.env.APPLICATION_PORT ?? 8000);
server.listen(port, "0.0.0.0", () => console.log(`doodles listens on port ${port}`));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
