# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Build boxes: the sandbox provider, what is staged and harvested, and the route to the model."""
