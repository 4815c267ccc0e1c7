# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where NeMo Gym finds our servers, and how it runs all of them in one virtualenv: this one.

NeMo Gym makes a virtualenv per server unless `<uv_venv_dir>/<kind>/<name>/.venv` is one already.
Here that is a link to our own: no second installation, and servers start in seconds. Needs no
nemo-gym.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from vibench_gym.core.errors import ConfigError

RESOURCES_SERVER: Final = "resources_servers/vibench"
AGENT: Final = "responses_api_agents/vibench_agent"
MODEL_SERVER: Final = "responses_api_models/openai_model"
SERVERS: Final = (RESOURCES_SERVER, AGENT, "environment_servers/legacy_agent", MODEL_SERVER)
CONFIG_NAME: Final = "one-venv.yaml"


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


def one_venv(folder: Path | None = None) -> Path:
    """Let NeMo Gym run its servers in this virtualenv: links to it, and a configuration file.

    In `folder`, else in the virtualenv itself. Returns the file, for `gym env start --config`.

    Raises:
        OSError: the folder cannot be written.
    """
    top = Path(os.path.abspath(folder or Path(sys.prefix) / "gym"))  # noqa: PTH100 (keeps links)
    for server in SERVERS:
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
