// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});
