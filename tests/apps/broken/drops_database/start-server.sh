#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
psql "$POSTGRES_DATABASE_URL" -c "select 1" || exit 4
exec python server.py
