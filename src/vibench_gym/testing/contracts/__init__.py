# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts: pytest mixins that say what a harness, model, sandbox provider or stack must do."""
