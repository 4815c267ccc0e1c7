// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { announce, follow } from "./live.js";
import { checkCheckin, checkName, checkNote, isDay, Problem, today } from "./rules.js";
import * as store from "./store.js";

const MAX_BODY = 64 * 1024;
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const FILES = ["blockers.js", "board.js", "session.js", "shared.js", "style.css", "icon.svg"];

async function readJson(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Problem(413, "That is too much text.");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Problem(400, "That was not JSON.");
  }
}

function sendJson(response, status, value, headers = {}) {
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...headers,
  });
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

function cookie(token, age) {
  return { "set-cookie": `standup=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}` };
}

function tokenOf(request) {
  return request.headers.cookie?.match(/(?:^|; )standup=([\w-]+)/)?.[1] ?? "";
}

async function board(day, member) {
  const [checkins, waiting] = await Promise.all([
    store.checkinsOf(day, member),
    store.waitingOn(day),
  ]);
  return { day, today: today(), checkins, waiting };
}

async function api(request, response, path) {
  const token = tokenOf(request);
  if (path === "/api/join" && request.method === "POST") {
    const made = await store.join(checkName(await readJson(request)), today());
    announce();
    return sendJson(response, 200, {}, cookie(made, 30 * 24 * 3600));
  }
  if (path === "/api/leave" && request.method === "POST") {
    await store.leave(token);
    return sendJson(response, 200, {}, cookie("", 0));
  }
  const member = await store.memberOf(token);
  if (path === "/api/me") {
    const blockers = await store.countOpenBlockers();
    return sendJson(response, 200, member ? { name: member.name, blockers } : { name: null });
  }
  if (!member) throw new Problem(401, "Please join first.");
  return memberApi(request, response, path, member);
}

async function blockersApi(request, response, path, member) {
  const [, , key, action] = path.slice(1).split("/");
  if (request.method === "GET" && !key) {
    const [open, resolved] = await Promise.all([
      store.openBlockers(member),
      store.resolvedBlockers(member),
    ]);
    return sendJson(response, 200, { today: today(), open, resolved });
  }
  if (request.method !== "PUT" || !/^\d{1,9}$/.test(key ?? "")) {
    throw new Problem(404, "There is nothing here.");
  }
  const input = await readJson(request);
  if (action === "help") {
    const changed = await store.help(member, Number(key), input?.on === true);
    if (!changed) throw new Problem(409, "Somebody else is already on it.");
  } else if (action === "resolve") {
    const changed = await store.resolve(member, Number(key), checkNote(input), today());
    if (!changed) throw new Problem(409, "This blocker is resolved already.");
  } else {
    throw new Problem(404, "There is nothing here.");
  }
  announce();
  return sendJson(response, 200, {});
}

async function memberApi(request, response, path, member) {
  if (/^\/api\/blockers(\/|$)/.test(path)) return blockersApi(request, response, path, member);
  const [, kind, key, action] = path.slice(1).split("/");
  switch (`${request.method} ${kind}${action ? `/${action}` : ""}`) {
    case "GET events":
      return follow(response);
    case "GET board":
      if (!isDay(key ?? today())) throw new Problem(404, "There is no such day.");
      return sendJson(response, 200, await board(key ?? today(), member));
    case "PUT checkin":
      await store.post(member, today(), checkCheckin(await readJson(request)));
      announce();
      return sendJson(response, 200, await board(today(), member));
    case "PUT checkins/cheer": {
      if (!/^\d{1,9}$/.test(key)) throw new Problem(404, "There is nothing here.");
      await store.cheer(member, Number(key), (await readJson(request))?.on === true);
      announce();
      return sendJson(response, 200, {});
    }
    default:
      throw new Problem(404, "There is nothing here.");
  }
}

async function handle(request, response) {
  const path = new URL(request.url, "http://app").pathname;
  if (path.startsWith("/api/")) return api(request, response, path);
  if (request.method !== "GET" && request.method !== "HEAD") throw new Problem(405, "Not allowed.");
  if (path === "/") return sendFile(response, "board.html");
  if (path === "/blockers") return sendFile(response, "blockers.html");
  const day = path.match(/^\/day\/([\d-]+)$/)?.[1];
  if (day) return sendFile(response, "board.html", isDay(day) ? 200 : 404);
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
server.listen(port, "0.0.0.0", () => console.log(`standup listens on port ${port}`));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
