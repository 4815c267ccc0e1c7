# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Rule 2: the plan's own text decides whether a failure ends the plan, not the model."""

from __future__ import annotations


def is_non_fatal(prose: str, quote: str) -> bool:
    """Whether the quote is a passage of the step that makes a failure non-fatal."""
    return bool(quote) and " ".join(quote.split()) in " ".join(prose.split())
