// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// All blockers, open ones first. The resolve dialog stands outside the lists, so that live updates
// leave what is typed in it alone.
import { enter } from "./session.js";
import { attempt, call, count, element, part } from "./shared.js";

const FILTERS = {
  all: () => true,
  mine: ({ mine }) => mine,
  helping: ({ helping }) => helping,
};
let asked = 0;
let shown = "";
let known = { open: [], resolved: [], today: "" };
let resolving = null;

function age(day) {
  const days = Math.round((Date.parse(known.today) - Date.parse(day)) / 86_400_000);
  return days === 0 ? "today" : `${count(days, "day")} ago`;
}

function help({ id, owner, helping }) {
  const press = () =>
    attempt(part("problem"), async () => {
      await call("PUT", `/api/blockers/${id}/help`, { on: !helping });
      await refresh();
    });
  const attributes = { type: "button", "aria-pressed": String(helping), click: press };
  return element("button", attributes, helping ? `Stop helping ${owner}` : `Help ${owner}`);
}

function ask(blocker) {
  resolving = blocker.id;
  part("resolve-text").textContent = blocker.text;
  part("resolve-problem").hidden = true;
  part("note").value = "";
  part("resolve").showModal();
}

function openCard(blocker) {
  const { text, owner, raised, helper, helping, mine } = blocker;
  const buttons = [element("button", { type: "button", click: () => ask(blocker) }, "Resolve")];
  if (!mine && (helping || !helper)) buttons.unshift(help(blocker));
  return element(
    "article",
    { class: "panel blocked", "aria-label": `Blocker of ${owner}` },
    element("h2", {}, text),
    element("p", { class: "hint" }, `Raised by ${owner} on ${raised} (${age(raised)})`),
    element("p", {}, helper ? `Helper: ${helper}` : "Nobody is helping yet"),
    element("div", { class: "row" }, ...buttons),
  );
}

function resolvedCard({ text, owner, raised, resolver, resolved, note }) {
  return element(
    "article",
    { class: "panel", "aria-label": `Resolved blocker of ${owner}` },
    element("h2", {}, text),
    element("p", { class: "hint" }, `Raised by ${owner} on ${raised}`),
    element("p", {}, `Solution: ${note}`),
    element("p", { class: "hint" }, `Resolved by ${resolver} on ${resolved}`),
  );
}

function fill(place, cards, empty) {
  place.replaceChildren(...(cards.length ? cards : [element("p", { class: "hint" }, empty)]));
}

function show() {
  const wanted = FILTERS[part("filter").value];
  const open = known.open.filter(wanted);
  const resolved = known.resolved.filter(wanted);
  part("summary").textContent = `${open.length} open, ${resolved.length} resolved`;
  fill(part("open"), open.map(openCard), "Nothing is blocked.");
  fill(part("resolved"), resolved.map(resolvedCard), "Nothing has been resolved yet.");
}

async function refresh() {
  asked += 1;
  const mine = asked;
  await attempt(part("problem"), async () => {
    const blockers = await call("GET", "/api/blockers");
    if (mine !== asked || JSON.stringify(blockers) === shown) return;
    shown = JSON.stringify(blockers);
    known = blockers;
    show();
  });
}

part("filter").addEventListener("change", show);
part("resolve-cancel").addEventListener("click", () => part("resolve").close());
part("resolve-form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(part("resolve-problem"), async () => {
    await call("PUT", `/api/blockers/${resolving}/resolve`, { note: part("note").value });
    part("resolve").close();
    await refresh();
  });
});

enter(refresh);
