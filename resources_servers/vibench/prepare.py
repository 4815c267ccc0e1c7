# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Write task rows from a ViBench checkout; the same command as `vibench-gym prepare`."""

from vibench_gym.gym.rows.prepare import main

if __name__ == "__main__":
    raise SystemExit(main())
