# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Who builds: a module or folder for each harness, and the registry that names them."""
