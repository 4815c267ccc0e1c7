# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where NeMo Gym finds our servers, and how it runs all of them in one virtualenv: this one.

NeMo Gym makes a virtualenv per server unless `<uv_venv_dir>/<kind>/<name>/.venv` is one already.
Here that is a link to our own: no second installation, and servers start in seconds. NeMo Gym's own
model servers are linked by what they require, not by name, so that `--model-type` may be any that
this virtualenv can run; the others are left to NeMo Gym. Needs no nemo-gym.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.requirements import runs_here

if TYPE_CHECKING:
    from collections.abc import Iterator

RESOURCES_SERVER: Final = "resources_servers/vibench"
AGENT: Final = "responses_api_agents/vibench_agent"
MODEL_SERVER: Final = "responses_api_models/openai_model"
SERVERS: Final = (RESOURCES_SERVER, AGENT, "environment_servers/legacy_agent", MODEL_SERVER)
"""Those of every run."""
CONFIG_NAME: Final = "one-venv.yaml"
ENV_NAME: Final = "env.yaml"
_KINDS: Final = ("responses_api_models", "environment_servers")
"""Kinds of NeMo Gym's own servers that may stand beside ours in a run."""


def gym_root() -> Path:
    """The folder for `--search-dir`: in a wheel, else in the checkout.

    Raises:
        ConfigError: neither is there.
    """
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "_gym", package.parent.parent):
        if (candidate / RESOURCES_SERVER / "app.py").is_file():
            return candidate
    raise ConfigError(f"no servers beside {str(package)!r}: install vibench-gym from its wheel")


def servers(root: Path | None = None) -> tuple[str, ...]:
    """The servers that this virtualenv runs, as `<kind>/<name>`: ours, and NeMo Gym's.

    `root` is where NeMo Gym's are; where it is installed if None.
    """
    top = root or _installed_root()
    found = [] if top is None else [path for kind in _KINDS for path in (top / kind).glob("*")]
    able = (f"{path.parent.name}/{path.name}" for path in sorted(found) if runs_here(path))
    return tuple(dict.fromkeys((*SERVERS, *able)))


def one_venv(folder: Path | None = None) -> Path:
    """Let NeMo Gym run its servers in this virtualenv: links to it, and a configuration file.

    In `folder`, else in the virtualenv itself. Returns the file, for `gym env start --config`.

    Raises:
        OSError: the folder cannot be written.
    """
    top = Path(os.path.abspath(folder or Path(sys.prefix) / "gym"))  # noqa: PTH100 (keeps links)
    for server in servers():
        link = top / server / ".venv"
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink() or link.readlink() != Path(sys.prefix):
            fresh = link.with_name(f".venv.{os.getpid()}")
            fresh.symlink_to(sys.prefix, target_is_directory=True)
            fresh.replace(link)
    config = top / CONFIG_NAME
    text = f"# Made by vibench-gym gym-config.\nskip_venv_if_present: true\nuv_venv_dir: {top}\n"
    if not config.is_file() or config.read_text(encoding="utf-8") != text:
        config.write_text(text, encoding="utf-8")
    return config


def overruled(config: Path) -> str:
    """What has to be said where an `env.yaml` overrules the file of `one_venv`; else nothing.

    NeMo Gym merges the first `env.yaml` of its search path over every `--config`.

    Raises:
        OSError: a file cannot be read.
    """
    place = next((path for path in _env_files() if path.is_file()), None)
    if place is None:
        return ""
    try:
        theirs = yaml.safe_load(place.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return f"{place} is no YAML that can be read; NeMo Gym reads it, too"
    ours = yaml.safe_load(config.read_text(encoding="utf-8"))
    theirs = theirs if isinstance(theirs, dict) else {}
    other = [name for name, value in ours.items() if _differs(theirs.get(name, value), value)]
    if not other:
        return ""
    said = ", ".join(f"{name}: {theirs[name]}" for name in other)
    # JSON's words for true and false are those of NeMo Gym's command line.
    settings = (f"+{name}={json.dumps(ours[name])}" for name in other)
    wins = " ".join(shlex.quote(setting.replace('"', "")) for setting in settings)
    return (
        f"{place} overrules {config} in what NeMo Gym starts ({said}): take that out of it, "
        f"or end the command with {wins}"
    )


def _env_files() -> Iterator[Path]:
    """Where NeMo Gym looks for `env.yaml`, in its order, with the README's `--search-dir`."""
    extra = os.environ.get("NEMO_GYM_EXTRA_ROOTS", "").split(os.pathsep)
    roots = [*(Path(root) for root in extra if root), gym_root(), Path.cwd(), _installed_root()]
    return (root / ENV_NAME for root in roots if root is not None)


def _differs(theirs: object, ours: object) -> bool:
    if isinstance(ours, str):
        return not isinstance(theirs, str) or os.path.abspath(theirs) != ours  # noqa: PTH100
    return theirs != ours


def _installed_root() -> Path | None:
    spec = importlib.util.find_spec("nemo_gym")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent.parent
