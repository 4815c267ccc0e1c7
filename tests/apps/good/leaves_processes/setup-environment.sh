#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
(while true; do sleep 1; date >> /app/alive; done) &
nohup setsid sleep 300 > /dev/null 2>&1 &
sleep 1.2
