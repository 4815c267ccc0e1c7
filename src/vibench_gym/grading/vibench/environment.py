# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of ViBench's scripts: the checkout's own `env_creator` makes it, once.

It runs in a process of its own: nothing of the checkout is imported here. The values hold the
graders' keys: they are handed to scripts as environment, never as arguments, never logged, and
`repr` does not show them. The server's own environment is not passed on.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from vibench_gym.core.errors import ConfigError
from vibench_gym.core.redact import MIN_SECRET, redact
from vibench_gym.grading.vibench.checkout import client_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vibench_gym.grading.vibench.checkout import Checkout

SLOTS: Final = ("AGENT_LLM", "AGENT_SEEDING_LLM", "AGENT_EVALUATION_LLM")
"""ViBench's agents refuse to start unless each of these has a key and a model."""
_FILLED: Final = ("API_KEY", "MODEL", "ENDPOINT")
APP_KEY: Final = "OPENAI_API_KEY"
"""The only one of these variables that is meant for the app."""
_TIMEOUT_S: Final = 120.0
_MAX_FILE: Final = 64 * 1024
_PROVIDER: Final = re.compile(r"\w+_API_KEY|AGENT_\w+|MAX_ITERATIONS|EFFECTIVE_CONTEXT_WINDOW")
_NEEDED: Final = (
    *(f"{slot}_{suffix}" for slot in SLOTS for suffix in ("API_KEY", "MODEL")),
    "AGENT_EVALUATION_COMPRESSION_LLM_API_KEY",
    "AGENT_EVALUATION_COMPRESSION_LLM_MODEL",
    "EFFECTIVE_CONTEXT_WINDOW",
)
_PASSED: Final = re.compile(r"AGENT_\w+|MAX_ITERATIONS|EFFECTIVE_CONTEXT_WINDOW|LITELLM_LOG")
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"://([^/@\s]+)@")
_PLAIN: Final = re.compile(r"\w*(?:COST_PER_TOKEN|MAX_OUTPUT_TOKENS|_TOOLS|_MODEL)")
# One line of output: what the module prints when it is imported does not count.
_ASK: Final = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); import env_creator; "
    "print('\\n' + json.dumps(env_creator.get_env_dict(sys.argv[2])))"
)


class GraderEnvironment(Mapping[str, str]):
    """The scripts' variables. Secret ones are marked, and never printed."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"GraderEnvironment({sorted(self._values)})"

    def for_app(self, key: str | None) -> GraderEnvironment:
        """The same with a key for the app's own model."""
        return GraderEnvironment({**self._values, APP_KEY: key or ""}) if key else self

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must be found nowhere."""
        found: dict[str, None] = {}
        for name, value in self._values.items():
            if _SECRET.search(name) and not _PLAIN.fullmatch(name):
                found[value] = None
            found.update(dict.fromkeys(_USER_INFO.findall(value)))
        return tuple(value for value in found if len(value) >= MIN_SECRET)

    def clean(self, text: str) -> str:
        """The text without the secrets."""
        return redact(text, self.secrets)


def grader_environment(
    checkout: Checkout, model: str, env_file: Path | None = None
) -> GraderEnvironment:
    """Ask the checkout's `env_creator` what its graders need. Blocks.

    Keys are looked for in the environment and in `env_file`, which wins. The builder's slot, which
    no grader uses but every agent wants filled, gets the seeding agent's values where it is unset.

    Raises:
        ConfigError: it cannot be made, or a slot has no key or model.
    """
    given = {name: value for name, value in os.environ.items() if _PROVIDER.fullmatch(name)}
    given |= _read(env_file) if env_file else {}
    base = client_environment()
    made = _ask(checkout, model, {**base, **given})
    values = {**given, **{name: value for name, value in made.items() if value}}
    for suffix in _FILLED:
        seeding = values.get(f"AGENT_SEEDING_LLM_{suffix}")
        if seeding and not values.get(f"AGENT_LLM_{suffix}"):
            values[f"AGENT_LLM_{suffix}"] = seeding
    missing = [name for name in _NEEDED if not values.get(name)]
    if missing:
        raise ConfigError(
            f"ViBench's graders lack {', '.join(missing)} for model {model!r}: set the provider's "
            "key (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...) in the environment or in vibench_env_file"
        )
    # The providers' own keys have served to fill the slots: the app is given none of them.
    passed = {name: value for name, value in values.items() if _PASSED.fullmatch(name)}
    return GraderEnvironment({**base, **passed, APP_KEY: ""})


def _read(path: Path) -> dict[str, str]:
    """KEY=VALUE lines.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MAX_FILE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"vibench_env_file {str(path)!r} cannot be read: {error}") from error
    found = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name.strip()):
            found[name.strip()] = value.strip().strip("'\"")
    return found


def _ask(checkout: Checkout, model: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What `env_creator` answers.

    Raises:
        ConfigError: nothing that can be used; the message has its last words, without secrets.
    """
    command = [str(checkout.python), "-c", _ASK, str(checkout.scripts), model]
    clean = GraderEnvironment(environment).clean
    try:
        done = subprocess.run(  # noqa: S603 - the operator's checkout
            command,
            cwd=checkout.root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(
            f"env_creator of {str(checkout.root)!r}: {type(error).__name__}"
        ) from None
    if done.returncode != 0:
        words = clean(done.stderr.decode(errors="replace"))[-1000:].strip()
        raise ConfigError(f"env_creator of {str(checkout.root)!r} failed: {words}")
    try:
        answer = json.loads(done.stdout.decode().rstrip().rpartition("\n")[2])
        return {str(name): str(value) for name, value in answer.items() if value is not None}
    except (ValueError, AttributeError):
        raise ConfigError(
            f"env_creator of {str(checkout.root)!r} answered nothing that can be used"
        ) from None
