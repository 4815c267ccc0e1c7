# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The `compose` stack: an app and its database in containers of a Docker engine."""
