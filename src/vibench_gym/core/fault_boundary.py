# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The one place where an exception that nobody foresaw becomes a `GraderFault`.

A defect of this package must cost one plan or one artifact a retry and a mask. It must not end a
run, and it must never become a zero. Cancellation and the interpreter's own exits pass through.

`except Exception` is written here and where a foreign program's exceptions have no types of their
own: sandbox providers of NeMo Gym, and Playwright whose driver is gone.
"""

from __future__ import annotations

import contextlib
import traceback
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import GraderFault, OperatorFault, SubmissionFault
from vibench_gym.core.shown_log import shown_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vibench_gym.core.errors import VibenchGymError

FORESEEN: Final = (SubmissionFault, GraderFault, OperatorFault)
_FRAMES: Final = 5
_logger = shown_logger(__name__)


@contextlib.contextmanager
def fault_boundary(
    doing: str,
    *,
    foreseen: tuple[type[VibenchGymError], ...] = FORESEEN,
    clean: Callable[[str], str] | None = None,
) -> Iterator[None]:
    """Turn any exception but the foreseen ones into a `GraderFault`, and log it.

    `doing` says in the log what was being done. `clean` takes secrets out of a text: where it is
    given, only cleaned text is logged, and the fault names the exception's type alone.

    Raises:
        GraderFault: the block raised something else; `defect_trace` has its last frames.
    """
    try:
        yield
    except foreseen:
        raise
    except Exception as defect:
        trace = traceback.format_exc(limit=-_FRAMES)
        if clean is None:
            _logger.exception("%s: a defect of the grader", doing)
            raise _fault(repr(defect), trace) from defect
        # Not `exception`: it would log what has not been cleaned.
        _logger.error("%s: a defect of the grader: %s", doing, clean(trace))  # noqa: TRY400
        raise _fault(type(defect).__name__, clean(trace)) from None


def _fault(name: str, trace: str) -> GraderFault:
    fault = GraderFault(f"a defect of the grader: {name}")
    fault.defect_trace = trace
    return fault
