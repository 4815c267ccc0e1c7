# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The zone daemon and what it is made of.

These modules run with `python -I -S` and an empty environment: the standard library only, and of
that as little as possible (no pathlib, dataclasses or typing), for every zone waits for it.
"""
