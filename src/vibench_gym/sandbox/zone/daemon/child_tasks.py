# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Slow work of the zone daemon, done in child processes, so that the daemon keeps serving.

Standard library only: the zone daemon imports this.
"""

from __future__ import annotations

import json
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Done = Callable[[str | None, int | None], None]

_MAX_ANSWER = 65536


class ChildTasks:
    """The children at work, each with the callback for its end."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[int, Done]] = {}

    def start(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` in a child; `done` is given the error and its number, or two Nones.

        Raises:
            OSError: the kernel refused.
        """
        reader, writer = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _work_and_exit(work, writer)
        os.close(writer)
        self._running[pid] = reader, done

    def reaped(self, pid: int) -> None:
        """Some process has ended."""
        if pid not in self._running:
            return
        reader, done = self._running.pop(pid)
        text = os.read(reader, _MAX_ANSWER)
        os.close(reader)
        error, code = json.loads(text) if text else ("the helper was killed", None)
        done(error, code)


def _work_and_exit(work: Callable[[], None], writer: int) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer: list[str | int | None] = [None, None]
    try:
        work()
    except OSError as error:
        answer = [str(error)[:1000], error.errno]
    except BaseException as error:  # noqa: BLE001  the child may only end in _exit
        answer = [repr(error)[:1000], None]
    finally:
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
