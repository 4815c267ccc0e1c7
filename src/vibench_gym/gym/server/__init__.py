# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The resources server: what NeMo Gym calls to seed a session and to verify a build."""
