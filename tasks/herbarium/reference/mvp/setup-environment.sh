#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
# Installs the dependencies and creates the schema; running it again changes nothing.
set -euo pipefail
cd "$(dirname "$0")"
pip install --disable-pip-version-check -r requirements.txt
python store.py
