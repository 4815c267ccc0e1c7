#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
psql -q "$POSTGRES_DATABASE_URL" -c "alter system set wal_level = 'minimal'"
