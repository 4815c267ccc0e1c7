# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""An image of this host's own toolchain, for Docker engines that no image registry serves.

It holds what the boxes of the local stack see: the system's programs, Chromium, the apps' Python,
Node and PostgreSQL; so an app that stands on one stack stands on the other. Nothing of the
operator's (no home, no /etc beyond names, fonts and certificates, no /usr/local) is in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import io
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from vibench_gym.core.errors import PrerequisiteMissing
from vibench_gym.sandbox.zone.daemon.rootfs import ETC_OF_HOST, USERS, etc_texts
from vibench_gym.stack.toolchain.chromium import find_chromium
from vibench_gym.stack.toolchain.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vibench_gym.core.config import ComposeConfig, StackConfig
    from vibench_gym.stack.compose.engine import Engine
    from vibench_gym.stack.toolchain.chromium import Chromium
    from vibench_gym.stack.toolchain.toolchain import Toolchain

DATABASE_IMAGE = "postgres:17"
IMPORT_TIMEOUT_S = 900.0
_LIB = (
    "*-linux-gnu*", "bfd-plugins", "chromium*", "file", "gcc", "git-core", "locale", "perl*",
    "python3*", "sasl2", "ssl", "*.so*",
)  # fmt: skip
_SHARE = (
    "X11", "aclocal*", "alsa", "base-files", "ca-certificates", "chromium*", "drirc.d", "file",
    "fontconfig", "fonts", "git-core", "glib-2.0", "glvnd", "mime", "misc", "perl*", "pkgconfig",
    "postgresql-common", "publicsuffix", "python3*", "readline", "tabset", "terminfo", "zoneinfo",
)  # fmt: skip
_FOLDERS = {
    "usr/bin": ("*",),
    "usr/sbin": ("*",),
    "usr/include": ("*",),
    "usr/libexec": ("gcc", "git-core", "coreutils"),
    "usr/lib": _LIB,
    "usr/lib64": ("*",),
    "usr/share": _SHARE,
}
"""What of the system's programs is taken, as patterns of names in each folder."""
_LEFT_OUT = ("docker*", "containerd*", "ctr", "runc", "__pycache__", "test", "tests", "*.a")
_EMPTY = ("app", "venv", "seeding", "data", "state", "artifact", "snapshot", "run", "proc", "sys",
          "dev", "home", "root")  # fmt: skip


async def choose_images(engine: Engine, config: ComposeConfig) -> ComposeConfig:
    """The settings with every image named, all of which the engine has.

    Raises:
        PrerequisiteMissing: it lacks one.
    """
    app = config.app_image
    await image_id(engine, app)
    database = config.database_image
    if database is None:
        has_it = await engine.call("image", "inspect", "--format", "{{.Id}}", DATABASE_IMAGE)
        database = DATABASE_IMAGE if has_it.return_code == 0 else app
    browser = config.browser_image or app
    for name in (database, browser):
        await image_id(engine, name)
    return config.model_copy(update={"database_image": database, "browser_image": browser})


async def image_id(engine: Engine, name: str) -> str:
    """Id of an image that the engine has.

    Raises:
        PrerequisiteMissing: it has no such image.
    """
    asked = await engine.call("image", "inspect", "--format", "{{.Id}}", name)
    if asked.return_code != 0:
        raise PrerequisiteMissing(
            f"the Docker engine has no image {name!r}",
            f"docker pull {name}, or make one of this host's programs: vibench-gym images",
        )
    return asked.stdout.strip()


async def make_local_image(engine: Engine, config: StackConfig, tag: str) -> str:
    """Make the image from this host's files and name it; answers its id.

    Raises:
        PrerequisiteMissing: the host lacks a part, or the engine does not take the image.
    """
    toolchain = await asyncio.to_thread(find_toolchain, config)
    chromium = await asyncio.to_thread(find_chromium)
    path = f"PATH=/usr/local/bin:{toolchain.path.partition('/home/app/.local/bin:')[2]}"
    changes = ("--change", f"ENV {path}", "--change", "ENV LANG=C.UTF-8")
    reader, writer = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *engine.command("import", *changes, "-", tag),
            env=dict(engine.env),
            stdin=reader,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    finally:
        os.close(reader)
    try:
        async with asyncio.timeout(IMPORT_TIMEOUT_S):
            writing = asyncio.to_thread(_write_image, writer, toolchain, chromium)
            (output, errors), _ = await asyncio.gather(process.communicate(), writing)
    except TimeoutError:
        raise PrerequisiteMissing("the engine takes no image in time", "docker info") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    if process.returncode != 0:
        message = errors.decode("utf-8", "replace")[-500:]
        raise PrerequisiteMissing(f"the engine did not take the image: {message}", "docker info")
    return output.decode().strip()


def _write_image(pipe: int, toolchain: Toolchain, chromium: Chromium) -> None:
    """Write the image's files as a tar archive, and close the pipe."""
    with (
        contextlib.suppress(BrokenPipeError),  # the engine's own words say why
        os.fdopen(pipe, "wb") as file,
        tarfile.open(fileobj=file, mode="w|", bufsize=1 << 20) as archive,
    ):
        for folder, patterns in _FOLDERS.items():
            for path in _chosen(Path("/", folder), patterns):
                _add_tree(archive, path, str(path))
        for path in _chosen(Path("/"), ("lib*", "bin", "sbin")):
            _add_tree(archive, path, str(path))
        for target, source in (*toolchain.mounts, *chromium.mounts):
            _add_tree(archive, source, target)
        _link(archive, "/usr/local/bin/chromium", chromium.box_executable)
        _link(archive, "/usr/local/bin/python3", toolchain.python.box_executable)
        _add_etc(archive)
        _add_places(archive)


def _add_etc(archive: tarfile.TarFile) -> None:
    for name in ETC_OF_HOST:
        source = Path(os.path.realpath(f"/etc/{name}"))
        if source.exists():
            _add_tree(archive, source, f"/etc/{name}")
    for name, text in etc_texts().items():
        _file(archive, f"/etc/{name}", text.encode())


def _add_places(archive: tarfile.TarFile) -> None:
    for name in _EMPTY:
        _folder(archive, f"/{name}")
    for uid, _, home in USERS.values():
        _folder(archive, home, uid)
    for name in ("/tmp", "/var/tmp"):  # noqa: S108 (places in the image)
        _folder(archive, name, mode=0o1777)


def _chosen(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        for path in sorted(folder.iterdir()):
            if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
                yield path


def _add_tree(archive: tarfile.TarFile, source: Path, name: str) -> None:
    def ours(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        last = member.name.rpartition("/")[2]
        if any(fnmatch.fnmatch(last, pattern) for pattern in _LEFT_OUT):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode &= 0o777  # nothing set-uid: no process of an app may become another user
        return (
            member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None
        )

    # A program that ordinary users may not read is no use to them; one that vanishes neither.
    with contextlib.suppress(PermissionError, FileNotFoundError):
        archive.add(source, name.lstrip("/"), filter=ours)


def _file(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name.lstrip("/"))
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _link(archive: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name.lstrip("/"))
    member.type, member.linkname = tarfile.SYMTYPE, target
    archive.addfile(member)


def _folder(archive: tarfile.TarFile, name: str, uid: int = 0, mode: int = 0o755) -> None:
    member = tarfile.TarInfo(name.lstrip("/"))
    member.type, member.mode, member.uid, member.gid = tarfile.DIRTYPE, mode, uid, uid
    archive.addfile(member)
