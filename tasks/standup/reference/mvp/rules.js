// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// What may be entered; a Problem's message is shown to the user.

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function text(input, limit, name) {
  const value = typeof input === "string" ? input.trim() : "";
  if (value.length > limit) {
    throw new Problem(400, `${name} may have ${limit} characters at most.`);
  }
  return value;
}

export function checkName(input) {
  const name = text(input?.name, 40, "Your name").replace(/\s+/g, " ");
  if (name === "") throw new Problem(400, "Please enter your name.");
  return name;
}

export function checkCheckin(input) {
  const done = text(input?.done, 2000, "Yesterday");
  const plan = text(input?.plan, 2000, "Today");
  const blockers = text(input?.blockers, 2000, "Blockers");
  if (plan === "") throw new Problem(400, "Please say what you are going to do today.");
  return { done, plan, blockers };
}

export function today() {
  return new Date().toISOString().slice(0, 10);
}

export function isDay(day) {
  if (!/^20\d\d-\d\d-\d\d$/.test(day)) return false;
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
