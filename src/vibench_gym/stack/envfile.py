# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""`.env.seeding`: environment values that a seed gives to the app, read as data.

Nothing is sourced, expanded or run. Names that would change how a process is loaded, where it finds
its programs or who it talks to are refused; the values reach the app's own processes only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ENV_FILE = ".env.seeding"
MAX_BYTES = 256 * 1024
MAX_VALUES = 256
MAX_VALUE_CHARS = 64 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SHELL = (
    "PATH HOME USER LOGNAME SHELL PWD OLDPWD IFS ENV SHELLOPTS CDPATH PS4 PROMPT_COMMAND TMPDIR"
)
_TOOLS = "EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE INPUTRC WGETRC NETRC CURL_HOME"
_TRUST = "SSLKEYLOGFILE SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE"
_LIBC = "TZ TZDIR HOSTALIASES RES_OPTIONS LOCPATH GCONV_PATH NLSPATH GLIBC_TUNABLES LC_ALL"
_RUNTIMES = (
    "NODE_OPTIONS NODE_PATH PERL5LIB PERL5OPT PERL5DB RUBYOPT RUBYLIB GEM_HOME GEM_PATH VIRTUAL_ENV"
    " _JAVA_OPTIONS JDK_JAVA_OPTIONS PHPRC PHP_INI_SCAN_DIR XDG_CONFIG_HOME XDG_CONFIG_DIRS"
)
_STACK = "POSTGRES_DATABASE_URL APPLICATION_PORT"
_DENIED_NAMES = frozenset(f"{_SHELL} {_TOOLS} {_TRUST} {_LIBC} {_RUNTIMES} {_STACK}".split())
_LIBPQ = re.compile(r"PG[A-Z]+")
"""All that PostgreSQL's clients read, PGHOSTADDR and PGSERVICEFILE among them."""
_DENIED_PREFIXES = (
    "LD_",
    "DYLD_",
    "BASH",
    "PYTHON",
    "NODE_EXTRA",
    "NODE_REPL",
    "NODE_COMPILE",
    "NODE_V8",
    "NODE_TLS",
    "NPM_CONFIG",
    "PNPM_CONFIG",
    "YARN_",
    "COREPACK_",
    "BUN_",
    "DENO_",
    "BUNDLE_",
    "LUA_",
    "DOTNET_",
    "CORECLR_",
    "OPENSSL_",
    "PSQL",
    "PIP_",
    "UV_",
    "GIT_",
    "JAVA_TOOL",
    "MALLOC_",
    "AGENT_",
    "VIBENCH",
)
_DENIED_SUFFIXES = ("_PROXY",)


def is_denied(name: str) -> bool:
    """Whether a seed may not set this name."""
    upper = name.upper()
    return (
        not _NAME.fullmatch(name)
        or upper in _DENIED_NAMES
        or _LIBPQ.fullmatch(upper) is not None
        or upper.startswith(_DENIED_PREFIXES)
        or upper.endswith(_DENIED_SUFFIXES)
    )


def allowed(env: Mapping[str, str]) -> dict[str, str]:
    """The values that may reach the app: denied names, NULs and oversized values are left out."""
    kept = {
        name: value
        for name, value in env.items()
        if not is_denied(name) and "\0" not in value and len(value) <= MAX_VALUE_CHARS
    }
    return dict(list(kept.items())[:MAX_VALUES])


def parse(data: bytes) -> dict[str, str]:
    r"""KEY=VALUE lines as a shell would assign them, without a shell; what is not one is skipped.

    `export` before a name is accepted, comments and blank lines are skipped. Single quotes keep
    their content as it is; double quotes know `\n`, `\"`, `\\` and `\$`; quoted values may span
    lines. Unquoted values run to the end of the line, or to a `#` after a space.
    """
    text = data[:MAX_BYTES].decode("utf-8", errors="replace").removeprefix("\ufeff")
    text = text.replace("\r\n", "\n")
    env: dict[str, str] = {}
    position = 0
    start = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=")
    while position < len(text):
        match = start.match(text, position)
        if match is None:
            position = _line_end(text, position) + 1
            continue
        value, end = _value(text, match.end())
        env[match[1]] = value
        position = _line_end(text, end) + 1
    return allowed(env)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _value(text: str, position: int) -> tuple[str, int]:
    quote = text[position : position + 1]
    if quote in ("'", '"'):
        pattern = r"'([^']*)'" if quote == "'" else r'"((?:[^"\\]|\\.)*)"'
        match = re.compile(pattern, re.DOTALL).match(text, position)
        if match is not None:
            raw = match[1]
            return (raw if quote == "'" else _unescape(raw)), match.end()
    end = _line_end(text, position)
    return re.split(r"\s#", text[position:end], maxsplit=1)[0].strip(), end


def _unescape(raw: str) -> str:
    def replace(match: re.Match[str]) -> str:
        character = match[1]
        if character == "n":
            return "\n"
        return character if character in '"\\$`' else match[0]

    return re.sub(r"\\(.)", replace, raw, flags=re.DOTALL)
