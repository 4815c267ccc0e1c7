# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""A process that has imported what is slow to import and is not ours, and forks for each test run.

It is started as a file, so that nothing of this package is imported before a run names the copy to
import from. A line of JSON in (`source`, `environment`, `arguments`, `log`), one out (the code).
"""

import importlib
import json
import os
import sys

SLOW = (
    *("nemo_gym.base_resources_server", "nemo_gym.base_responses_api_agent", "nemo_gym.sandbox"),
    *("nemo_gym.rollout_observability", "nemo_gym.openai_utils", "nemo_gym.server_utils"),
    *("fastapi", "httpx", "uvicorn", "omegaconf", "pydantic", "openai", "pytest"),
)


def run(order: dict[str, object]) -> None:
    """Become a test run; never returns."""
    code = 70
    try:
        log = os.open(str(order["log"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        os.environ.update(order["environment"])  # type: ignore[call-overload]
        sys.path.insert(0, str(order["source"]))
        code = int(importlib.import_module("pytest").main(order["arguments"]))
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Serve until standard input ends."""
    del sys.path[0]
    for name in SLOW:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            run(json.loads(line))
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
