// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
"use strict";
const viewer = document.getElementById("viewer");
const picture = viewer.querySelector("img");
const caption = viewer.querySelector("p");
let shown = null;
function show(button) {
  shown = button;
  const small = button.querySelector("img");
  picture.src = small.src;
  picture.alt = small.alt;
  caption.textContent = button.parentElement.querySelector("figcaption").textContent.replace(/\s+/g, " ").trim();
  if (!viewer.open) viewer.showModal();
}
function step(by) {
  const all = [...shown.closest(".figures").querySelectorAll("button")];
  const next = all[all.indexOf(shown) + by];
  if (next) show(next);
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("figure button");
  if (button) show(button);
  else if (event.target === picture || event.target === viewer) viewer.close();
});
viewer.addEventListener("keydown", (event) => {
  if (event.key === "ArrowRight") step(1);
  if (event.key === "ArrowLeft") step(-1);
});
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
