# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Text that came by way of an app: made safe to show to a model, and read as a person reads it."""
