#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
nohup setsid python server.py > /dev/null 2>&1 &
exit 0
