# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks as they lie on disk: PRDs, test plans, assets, references and mutants."""
