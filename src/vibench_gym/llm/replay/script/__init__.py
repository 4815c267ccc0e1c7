# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Replay scripts: YAML files by which a scripted seeder or QA agent acts on what it sees."""
