# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Models without a model: an endpoint that answers from scripts or recorded traffic."""
