// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// The board of one day. A refresh touches the form only once, so nothing typed is ever lost.
import { enter } from "./session.js";
import { attempt, call, count, dayAfter, element, part } from "./shared.js";

const day = window.location.pathname.split("/")[2];
let asked = 0;
let shown = "";
let filled = false;

function title({ day: date, today }) {
  const weekday = new Date(`${date}T00:00:00Z`).toLocaleDateString("en", {
    weekday: "long",
    timeZone: "UTC",
  });
  const names = { [today]: "Today", [dayAfter(today, -1)]: "Yesterday" };
  return `${names[date] ?? weekday} · ${date}`;
}

function links({ day: date, today }) {
  const link = (to, text) => element("a", { class: "button", href: `/day/${to}` }, text);
  const previous = link(dayAfter(date, -1), "Previous day");
  return date < today ? [previous, link(dayAfter(date, 1), "Next day")] : [previous];
}

function cheer({ id, name, mine, cheers, cheered }) {
  const number = element("span", { class: "hint" }, count(cheers, "cheer"));
  if (mine) return [number];
  const press = () =>
    attempt(part("problem"), async () => {
      await call("PUT", `/api/checkins/${id}/cheer`, { on: !cheered });
      await refresh();
    });
  const attributes = { type: "button", "aria-pressed": String(cheered), click: press };
  return [element("button", attributes, `Cheer ${name}`), number];
}

function entries({ done, plan, blockers }) {
  const texts = { Yesterday: done, Today: plan, Blockers: blockers };
  return Object.entries(texts)
    .filter(([, text]) => text !== "")
    .flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
}

function card(checkin) {
  const when = `Posted at ${checkin.at}${checkin.edited ? " · edited" : ""}`;
  return element(
    "article",
    { class: checkin.blockers ? "panel blocked" : "panel", "aria-label": checkin.name },
    element("h2", {}, checkin.name),
    element("p", { class: "hint" }, when),
    element("dl", {}, ...entries(checkin)),
    element("div", { class: "row" }, ...cheer(checkin)),
  );
}

function fillForm({ day: date, today, checkins }) {
  part("mine").hidden = date !== today;
  const mine = checkins.find((checkin) => checkin.mine);
  part("post").textContent = mine ? "Update check-in" : "Post check-in";
  if (filled) return;
  filled = true;
  for (const name of ["done", "plan", "blockers"]) part(name).value = mine?.[name] ?? "";
}

function show(board) {
  const { day: date, today, checkins, waiting } = board;
  part("day").textContent = title(board);
  part("days").replaceChildren(...links(board));
  const everybody = checkins.length + waiting.length;
  part("summary").textContent = `${checkins.length} of ${everybody} checked in`;
  const missing = date < today ? "Did not check in" : "Still waiting for";
  part("waiting").textContent = waiting.length ? `${missing}: ${waiting.join(", ")}` : "";
  fillForm(board);
  const nobody = element("p", { class: "hint" }, "Nobody has checked in on this day.");
  part("checkins").replaceChildren(...(checkins.length ? checkins.map(card) : [nobody]));
}

function showNew(board) {
  if (JSON.stringify(board) === shown) return;
  shown = JSON.stringify(board);
  show(board);
}

async function refresh() {
  asked += 1;
  const mine = asked;
  await attempt(part("problem"), async () => {
    const board = await call("GET", day ? `/api/board/${day}` : "/api/board");
    if (mine === asked) showNew(board);
  });
}

part("mine").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(part("mine-problem"), async () => {
    const texts = { done: part("done").value, plan: part("plan").value };
    await call("PUT", "/api/checkin", { ...texts, blockers: part("blockers").value });
    await refresh();
  });
});

enter(refresh);
