// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// What a doodle may be; a Problem's message is shown to the user.

export const COLOURS = ["Ink", "Red", "Blue", "Green", "Orange"];
export const SIZES = ["thin", "thick"];
const MAX_STROKES = 500;
const MAX_POINTS = 5000;

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function isPoint(point) {
  return Array.isArray(point) && point.length === 2 && point.every(Number.isFinite);
}

function isStroke(stroke) {
  return (
    COLOURS.includes(stroke?.colour) &&
    SIZES.includes(stroke.size) &&
    Array.isArray(stroke.points) &&
    stroke.points.length >= 1 &&
    stroke.points.length <= MAX_POINTS &&
    stroke.points.every(isPoint)
  );
}

export function checkDoodle(input) {
  const title = typeof input?.title === "string" ? input.title.trim() : "";
  if (title === "") throw new Problem(400, "Give the doodle a title first.");
  if (title.length > 60) throw new Problem(400, "The title may have 60 characters at most.");
  const strokes = input.strokes;
  if (!Array.isArray(strokes) || strokes.length === 0) {
    throw new Problem(400, "Draw something first.");
  }
  if (strokes.length > MAX_STROKES || !strokes.every(isStroke)) {
    throw new Problem(400, "This drawing cannot be saved.");
  }
  return { title, strokes: strokes.map(({ colour, size, points }) => ({ colour, size, points })) };
}

export function checkOrder(input) {
  const ids = input?.ids;
  if (!Array.isArray(ids) || !ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)) {
    throw new Problem(400, "This order cannot be saved.");
  }
  return ids;
}
