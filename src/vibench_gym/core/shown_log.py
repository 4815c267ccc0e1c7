# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Loggers whose lines are shown as everything else is: an app's error cannot forge a line of a log.

The filter sits at the logger, since handlers belong to whoever runs us.
"""

from __future__ import annotations

import logging
from typing import Final

from vibench_gym.core.shown_text import visible_lines

_FORMATTER: Final = logging.Formatter()


def shown_logger(name: str) -> logging.Logger:
    """The logger of that name; every module of ours takes its own from here."""
    logger = logging.getLogger(name)
    logger.addFilter(_made_visible)  # the same function is added once only
    return logger


def _made_visible(record: logging.LogRecord) -> bool:
    record.msg, record.args = visible_lines(record.getMessage()), ()
    if record.exc_info:
        # A formatter takes this text in place of one of its own.
        record.exc_text = visible_lines(_FORMATTER.formatException(record.exc_info))
    return True
