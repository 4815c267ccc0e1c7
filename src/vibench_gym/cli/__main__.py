# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m vibench_gym.cli`."""

from vibench_gym.cli.app import main

main()
