# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Docker engines, images and a stand-in for a ViBench checkout."""
