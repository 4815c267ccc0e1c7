#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
yes 'a line that never ends' &
exec python server.py
