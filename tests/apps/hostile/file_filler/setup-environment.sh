#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
mkdir -p /app/many && cd /app/many
for n in $(seq 100); do : > d$n; seq -f "d$n-%g" 20000 | xargs touch || exit 9; done
