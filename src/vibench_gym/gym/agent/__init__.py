# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The agent server: builds an app with a coding harness, then asks for its reward."""
