# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An endpoint that answers from scripts or recorded traffic, in place of a model."""
