// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// The sketchbook: all doodles in the order the user gave them.
import { call, count, element, HEIGHT, LINE, PAINT, report, WIDTH } from "./shared.js";

const SVG = "http://www.w3.org/2000/svg";
const cards = document.querySelector("#doodles");
const problem = document.querySelector("#problem");
let doodles = [];
let shown = null;
let asked = 0;
let dragged = null;

function picture({ title, strokes }) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Picture of ${title}`);
  for (const { colour, size, points } of strokes) {
    const line = document.createElementNS(SVG, "polyline");
    const drawn = points.length > 1 ? points : [points[0], points[0]];
    line.setAttribute("points", drawn.map((point) => point.join(",")).join(" "));
    line.setAttribute("stroke", PAINT[colour]);
    line.setAttribute("stroke-width", LINE[size]);
    svg.append(line);
  }
  return svg;
}

// Only the answer to the last call counts: two quick drags may be answered in any order.
async function attempt(action) {
  asked += 1;
  const mine = asked;
  try {
    const answer = await action();
    if (mine === asked) doodles = answer;
    report(problem, null);
  } catch (error) {
    report(problem, error);
  }
  show();
}

function move(id, target) {
  const ids = doodles.map((doodle) => doodle.id);
  const to = ids.indexOf(target);
  ids.splice(ids.indexOf(id), 1);
  ids.splice(to, 0, id);
  doodles = ids.map((wanted) => doodles.find((doodle) => doodle.id === wanted));
  show();
  attempt(() => call("PUT", "/api/order", { ids }));
}

async function remove({ id, title }) {
  if (!window.confirm(`Delete “${title}” for good?`)) return;
  await attempt(async () => {
    await call("DELETE", `/api/doodles/${id}`);
    return call("GET", "/api/doodles");
  });
}

function card(doodle) {
  const { id, title, strokes } = doodle;
  const made = element(
    "li",
    {
      class: "card",
      draggable: "true",
      "aria-label": title,
      dragstart: (event) => {
        dragged = id;
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", title);
        made.classList.add("dragged");
      },
      dragend: () => {
        dragged = null;
        made.classList.remove("dragged");
      },
      dragover: (event) => {
        if (dragged === null) return;
        event.preventDefault();
        made.classList.toggle("target", dragged !== id);
      },
      dragleave: () => made.classList.remove("target"),
      drop: (event) => {
        event.preventDefault();
        made.classList.remove("target");
        if (dragged !== null && dragged !== id) move(dragged, id);
      },
    },
    picture(doodle),
    element(
      "div",
      { class: "caption" },
      element("a", { href: `/doodles/${id}`, draggable: "false" }, title),
      element("span", { class: "hint" }, count(strokes.length, "stroke")),
      element(
        "button",
        { type: "button", "aria-label": `Delete ${title}`, click: () => remove(doodle) },
        "Delete",
      ),
    ),
  );
  return made;
}

function show() {
  if (JSON.stringify(doodles) === shown) return;
  shown = JSON.stringify(doodles);
  cards.replaceChildren(...doodles.map(card));
  document.querySelector("#count").textContent = count(doodles.length, "doodle");
  document.querySelector("#empty").hidden = doodles.length > 0;
  document.querySelector("#hint").hidden = doodles.length < 2;
}

attempt(() => call("GET", "/api/doodles"));
