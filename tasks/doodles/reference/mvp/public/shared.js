// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0

export const WIDTH = 640;
export const HEIGHT = 400;
export const PAINT = {
  Ink: "#1f2430",
  Red: "#d64550",
  Blue: "#2f6fde",
  Green: "#2e9e5b",
  Orange: "#ee8a1d",
};
export const LINE = { thin: 4, thick: 14 };

export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function report(place, error) {
  place.textContent = error?.message ?? "";
  place.hidden = !error;
}
