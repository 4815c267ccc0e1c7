#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
npm install
npm install -g cowsay@1.6.0
node schema.js
