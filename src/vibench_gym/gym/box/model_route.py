# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The address of the policy model, for the host and for a build box.

NeMo Gym's model server has an address on this host and a path for the run (`/ng-rollout/<id>`), by
which it captures the tokens of a rollout. Boxes may need another address for the host, but the path
is always kept: a call without it belongs to no rollout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import urlsplit

from vibench_gym.core.errors import ConfigError
from vibench_gym.gym.box.call_usage import NO_TOKENS, Usage

if TYPE_CHECKING:
    from nemo_gym.sandbox.providers.base import SandboxHandle

BOX_PORT = 3142
"""Where our own provider's boxes find the route: 127.0.0.1, beside the registry mirror."""
DOCKER_GATEWAY = "host.docker.internal"
MODEL_URL_OPTION = "model_url"
"""Key of `SandboxSpec.provider_options` that tells our provider what to route to."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "0.0.0.0", "::1"})  # noqa: S104 (never bound)
_PREFIX = re.compile(r"(/[A-Za-z0-9._-]+)*")


@dataclass(frozen=True, slots=True)
class ModelUrl:
    """A model server's address and the run's path on it, without the API version."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    """`/ng-rollout/<id>` and what follows it, or nothing."""

    @classmethod
    def parse(cls, url: str) -> ModelUrl:
        """Take a URL apart; a trailing `/v1` is the API version, not the path.

        Raises:
            ConfigError: it is no HTTP URL that a route can be made to.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConfigError(f"not a model server's URL: {url!r} ({error})") from error
        prefix = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
            raise ConfigError(f"not a model server's URL: {url!r}")
        if not _PREFIX.fullmatch(prefix) or any(p in (".", "..") for p in prefix.split("/")):
            raise ConfigError(f"not a path a route can keep: {url!r}")
        default = 443 if parts.scheme == "https" else 80
        return cls(parts.scheme, parts.hostname, port or default, prefix)

    @property
    def root(self) -> str:
        """The URL without the API version."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    @property
    def base_url(self) -> str:
        """The base URL for an OpenAI client: the run's path, then `/v1`."""
        return f"{self.root}/v1"

    @property
    def connect_host(self) -> str:
        """The host to connect to; a server that listens everywhere is found on loopback."""
        return "127.0.0.1" if self.host == "0.0.0.0" else self.host  # noqa: S104 (never bound)

    @property
    def on_loopback(self) -> bool:
        """Whether the address means this host, and inside a box the box itself."""
        return self.host in _LOOPBACK

    def inside(self, provider: str, override: str | None) -> ModelUrl:
        """The same route as a box of that provider sees it; the run's path is kept.

        Raises:
            ConfigError: the override is no URL.
        """
        if override:
            other = ModelUrl.parse(override)
            return replace(other, prefix=self.prefix)
        if provider == "bubblewrap":
            return ModelUrl("http", "127.0.0.1", BOX_PORT, self.prefix)
        if provider == "docker" and self.on_loopback:
            return replace(self, host=DOCKER_GATEWAY)
        return self


@dataclass(slots=True)
class ModelTraffic:
    """What went over one box's route, counted on the host's side where no builder can reach it."""

    requests: int = 0
    answered: int = 0
    """Answers with a 2xx status."""
    last_failure: str = ""
    failing_since: float | None = None
    """Monotonic time of the first failure after the last good answer."""
    sessions: dict[str, None] = field(default_factory=dict)
    """Values of the harness's session header, in the order of their first use."""
    counted: int = 0
    """Calls of these sessions that were answered with their usage."""
    usage: Usage = NO_TOKENS
    """Tokens of those calls: of every conversation, sub-agents' too."""


@runtime_checkable
class SupportsModelRoute(Protocol):
    """A provider that carries the model's traffic itself, and so can count it."""

    def model_traffic(self, handle: SandboxHandle) -> ModelTraffic:
        """The traffic of one box so far."""
        ...
