// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// The drawing page. `strokes` is never changed in place: undo and redo keep whole versions of it.
import { call, count, element, HEIGHT, LINE, PAINT, report, WIDTH } from "./shared.js";

const ERASER_REACH = 8;
const part = (id) => document.querySelector(`#${id}`);
const paper = part("paper");
const brush = paper.getContext("2d");
const chosen = { tool: "Pen", colour: "Ink", size: "thin" };
let id = Number(window.location.pathname.split("/").pop()) || null;
let strokes = [];
let past = [];
let future = [];
let current = null;
let erasing = null;

function choices(place, name, options, decorate = () => {}) {
  for (const option of options) {
    const input = element("input", {
      type: "radio",
      name,
      value: option,
      change: () => {
        chosen[name] = option;
      },
    });
    input.checked = chosen[name] === option;
    const label = element("label", { class: `choice ${name}` }, input, element("span", {}, option));
    decorate(label, option);
    place.append(label);
  }
}

function paint({ colour, size, points }) {
  brush.strokeStyle = PAINT[colour];
  brush.lineWidth = LINE[size];
  brush.lineCap = "round";
  brush.lineJoin = "round";
  brush.beginPath();
  brush.moveTo(...points[0]);
  for (const point of points.length > 1 ? points.slice(1) : points) brush.lineTo(...point);
  brush.stroke();
}

function describe({ colour, size, points }) {
  return `${colour}, ${size}${points.length > 1 ? "" : " dot"}`;
}

function show() {
  brush.clearRect(0, 0, WIDTH, HEIGHT);
  for (const stroke of strokes) paint(stroke);
  if (current) paint(current);
  part("strokes").replaceChildren(
    ...strokes.map((stroke) => element("li", {}, describe(stroke))),
  );
  part("number").textContent = count(strokes.length, "stroke");
  part("undo").disabled = past.length === 0;
  part("redo").disabled = future.length === 0;
  part("clear").disabled = strokes.length === 0;
}

function touched() {
  part("state").textContent = "Unsaved changes";
  show();
}

function change(next) {
  past = [...past, strokes];
  future = [];
  strokes = next;
  touched();
}

function position(event) {
  const box = paper.getBoundingClientRect();
  const x = ((event.clientX - box.left) * WIDTH) / box.width;
  const y = ((event.clientY - box.top) * HEIGHT) / box.height;
  return [Math.min(Math.max(x, 0), WIDTH), Math.min(Math.max(y, 0), HEIGHT)].map(Math.round);
}

function distance([px, py], [ax, ay], [bx, by]) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const along = length ? ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length : 0;
  const share = Math.min(Math.max(along, 0), 1);
  return Math.hypot(px - ax - share * (bx - ax), py - ay - share * (by - ay));
}

function hits({ size, points }, from, to) {
  const reach = ERASER_REACH + LINE[size] / 2;
  const steps = Math.max(1, Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / 4));
  for (let step = 0; step <= steps; step += 1) {
    const at = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / steps);
    for (let index = 0; index < points.length; index += 1) {
      if (distance(at, points[Math.max(index - 1, 0)], points[index]) <= reach) return true;
    }
  }
  return false;
}

function erase(from, to) {
  const kept = strokes.filter((stroke) => !hits(stroke, from, to));
  if (kept.length < strokes.length) change(kept);
}

paper.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  event.preventDefault();
  paper.setPointerCapture(event.pointerId);
  const at = position(event);
  if (chosen.tool === "Eraser") {
    erasing = at;
    erase(at, at);
  } else {
    current = { colour: chosen.colour, size: chosen.size, points: [at] };
    show();
  }
});

paper.addEventListener("pointermove", (event) => {
  const at = position(event);
  if (erasing) {
    erase(erasing, at);
    erasing = at;
  } else if (current) {
    const last = current.points.at(-1);
    if (last[0] === at[0] && last[1] === at[1]) return;
    current.points.push(at);
    show();
  }
});

function finish() {
  erasing = null;
  if (!current) return;
  const drawn = current;
  current = null;
  change([...strokes, drawn]);
}
paper.addEventListener("pointerup", finish);
paper.addEventListener("pointercancel", finish);

part("undo").addEventListener("click", () => {
  future = [...future, strokes];
  strokes = past.at(-1);
  past = past.slice(0, -1);
  touched();
});

part("redo").addEventListener("click", () => {
  past = [...past, strokes];
  strokes = future.at(-1);
  future = future.slice(0, -1);
  touched();
});

part("clear").addEventListener("click", () => {
  if (!window.confirm("Clear the whole drawing?")) return;
  change([]);
});

part("title").addEventListener("input", () => {
  part("state").textContent = "Unsaved changes";
});

part("save").addEventListener("click", async () => {
  part("save").disabled = true;
  try {
    const doodle = { title: part("title").value, strokes };
    const saved = id
      ? await call("PUT", `/api/doodles/${id}`, doodle)
      : await call("POST", "/api/doodles", doodle);
    id = saved.id;
    window.history.replaceState(null, "", `/doodles/${id}`);
    part("title").value = saved.title;
    part("state").textContent = "Saved";
    report(part("problem"), null);
  } catch (error) {
    report(part("problem"), error);
  }
  part("save").disabled = false;
});

async function load() {
  part("editor").inert = true;
  try {
    const doodle = await call("GET", `/api/doodles/${id}`);
    strokes = doodle.strokes;
    part("title").value = doodle.title;
    part("state").textContent = "Saved";
    show();
  } catch (error) {
    const back = element("a", { class: "button", href: "/" }, "Back to the sketchbook");
    part("editor").replaceChildren(element("p", { role: "alert" }, error.message), back);
  }
  part("editor").inert = false;
}

choices(part("tools"), "tool", ["Pen", "Eraser"]);
choices(part("colours"), "colour", Object.keys(PAINT), (label, option) => {
  label.style.setProperty("--paint", PAINT[option]);
});
choices(part("sizes"), "size", Object.keys(LINE));
show();
if (id) load();
