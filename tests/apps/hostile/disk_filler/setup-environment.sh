#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
for n in $(seq 1000); do head -c 16M /dev/zero > /app/fill-$n || exit 9; done
