# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Archives that attack whoever unpacks them, each around the same honest app.

Every maker is given a folder of its own to write into and gives back what is handed in: an archive
or a folder. What is hostile is added to the honest members, so that what remains after unpacking
can be compared with the honest app byte for byte.
"""

from __future__ import annotations

import gzip
import io
import os
import socket
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from support.counter_app import HONEST, write_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    type Maker = Callable[[Path], Path]

SECRET: Final = "canary-outside-the-app-51bd"
_LINK, _HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


def _member(
    tar: tarfile.TarFile,
    name: str,
    data: bytes = b"",
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    tar.addfile(info, io.BytesIO(data))


@contextmanager
def _tar(path: Path, *, honest: bool = True) -> Iterator[tarfile.TarFile]:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        if honest:
            for name, text in HONEST.items():
                _member(tar, name, text.encode())
        yield tar


def outside(folder: Path) -> Path:
    """A file beside the place of unpacking that must be neither read nor written."""
    path = folder / "outside.txt"
    path.write_text(SECRET, encoding="utf-8")
    return path


def honest_tar(folder: Path) -> Path:
    """The honest app, packed."""
    with _tar(folder / "app.tar"):
        pass
    return folder / "app.tar"


def upwards(folder: Path) -> Path:
    """Names that lead out: upwards, absolute, through a folder of the app's and back out."""
    target = outside(folder)
    with _tar(folder / "app.tar") as tar:
        for name in ("../outside.txt", "../../outside.txt", f"{target}", "src/../../outside.txt"):
            _member(tar, name, b"overwritten")
    return folder / "app.tar"


def through_link(folder: Path) -> Path:
    """A link to a folder outside, then a file written through it."""
    outside(folder)
    with _tar(folder / "app.tar") as tar:
        _member(tar, "way", kind=_LINK, link=str(folder))
        _member(tar, "way/outside.txt", b"overwritten")
        _member(tar, "way/planted.txt", b"planted")
    return folder / "app.tar"


def long_chain(folder: Path) -> Path:
    """Links whose resolved length passes PATH_MAX, so that a check by realpath gives up."""
    outside(folder)
    name = "d" * 200
    with _tar(folder / "app.tar") as tar:
        path = ""
        for step in "abcdefghijklmnop":
            _member(tar, f"{path}{name}", kind=tarfile.DIRTYPE)
            _member(tar, f"{path}{step}", kind=_LINK, link=name)
            path += f"{step}/"
        _member(tar, f"{path}{'l' * 200}", kind=_LINK, link="../" * 17)
        _member(tar, "escape", kind=_LINK, link=f"{path}{'l' * 200}/..")
        _member(tar, "escape/outside.txt", b"overwritten")
    return folder / "app.tar"


def hard_link_outward(folder: Path) -> Path:
    """Hard links to files outside, to read them, and one to write through."""
    target = outside(folder)
    with _tar(folder / "app.tar") as tar:
        _member(tar, "stolen", kind=_HARD, link=str(target))
        _member(tar, "stolen2", kind=_HARD, link="../outside.txt")
        _member(tar, "passwd", kind=_HARD, link="/etc/passwd")
    return folder / "app.tar"


def hard_link_through_link(folder: Path) -> Path:
    """A hard link to a symbolic link that leads outside, and one whose target never came."""
    target = outside(folder)
    with _tar(folder / "app.tar") as tar:
        _member(tar, "soft", kind=_LINK, link=str(target))
        _member(tar, "stolen", kind=_HARD, link="soft")
        _member(tar, "nothing", kind=_HARD, link="never-came")
    return folder / "app.tar"


def links_to_secrets(folder: Path) -> Path:
    """Links to what a grader's process holds."""
    outside(folder)
    with _tar(folder / "app.tar") as tar:
        for number, target in enumerate(
            ("/proc/self/environ", "/proc/1/environ", "/etc/shadow", "../outside.txt", "/root")
        ):
            _member(tar, f"link-{number}", kind=_LINK, link=target)
    return folder / "app.tar"


def chain_outward(folder: Path) -> Path:
    """Links that lead out by way of others, though by its own text each of them stays inside."""
    outside(folder)
    with _tar(folder / "app.tar") as tar:
        _member(tar, "deep/er/stolen", kind=_LINK, link="up/../outside.txt")
        _member(tar, "deep/er/up", kind=_LINK, link="../..")
        _member(tar, "top/stolen", kind=_LINK, link="/app/deep/er/up/../outside.txt")
        for number in range(3):  # in a circle
            _member(tar, f"round-{number}", kind=_LINK, link=f"round-{(number + 1) % 3}")
        _member(tar, "through", kind=_LINK, link="round-0/../../outside.txt")
    return folder / "app.tar"


def link_without_a_text(folder: Path) -> Path:
    """A zip with a link whose text no system call takes, and links by way of it."""
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        for name, text in HONEST.items():
            archive.writestr(name, text)
        for name, target in (("nul", "a\0b"), ("by", "nul"), ("empty", ""), ("long", "x/" * 4000)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    return folder / "app.zip"


def link_over_its_folder(folder: Path) -> Path:
    """A link of the same name as the one folder that everything is in."""
    with _tar(folder / "app.tar", honest=False) as tar:
        _member(tar, "top", kind=_LINK, link="elsewhere")
        for name, text in HONEST.items():
            _member(tar, f"top/{name}", text.encode())
    return folder / "app.tar"


def script_is_a_link(folder: Path) -> Path:
    """The start script itself replaced by a link to a file outside."""
    target = outside(folder)
    with _tar(folder / "app.tar") as tar:
        _member(tar, "start-server.sh", kind=_LINK, link=str(target))
    return folder / "app.tar"


def special_files(folder: Path) -> Path:
    """A FIFO, devices and a member of no known type."""
    with _tar(folder / "app.tar") as tar:
        for name, kind in (
            ("fifo", tarfile.FIFOTYPE),
            ("disk", tarfile.BLKTYPE),
            ("mem", tarfile.CHRTYPE),
            ("odd", b"Z"),
        ):
            _member(tar, name, kind=kind)
    return folder / "app.tar"


def special_files_in_a_folder(folder: Path) -> Path:
    """A folder with a FIFO that nobody writes to, a socket, and links out."""
    target = outside(folder)
    app = write_app(folder / "app")
    os.mkfifo(app / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(app, os.O_RDONLY)
        try:
            bound.bind(f"/proc/self/fd/{here}/sock")
        finally:
            os.close(here)
    (app / "link").symlink_to(target)
    (app / "loop").symlink_to("loop")
    return app


def odd_names(folder: Path) -> Path:
    """Dropped members named to write lines, colours and markup into the grader's records."""
    with _tar(folder / "app.tar") as tar:
        for name in (
            "../x\nreward: 1.0",
            "../\x1b]0;title\x07\x1b[2J",
            "../[bold red]all passed[/]",
            "../<script>alert(1)</script>",
            "../\u202edessap",
            "../\udcff\udcfe",
        ):
            _member(tar, name, b"x")
    return folder / "app.tar"


def setuid(folder: Path) -> Path:
    """Everything set-user-id, and closed to its owner."""
    with tarfile.open(folder / "app.tar", "w") as tar:
        for name, text in HONEST.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.uid, info.uname = len(text), 0o6000, 0, "root"
            tar.addfile(info, io.BytesIO(text.encode()))
    return folder / "app.tar"


def zip_of_all(folder: Path) -> Path:
    """As a zip: names outward, with backslashes, a link and a device in the mode bits."""
    target = outside(folder)
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        for name, text in HONEST.items():
            archive.writestr(name, text)
        archive.writestr("../outside.txt", "overwritten")
        archive.writestr(f"{target}", "overwritten")
        windows = zipfile.ZipInfo("..\\outside.txt")
        windows.create_system = 0
        archive.writestr(windows, "overwritten")
        for name, kind, content in (
            ("stolen", stat.S_IFLNK, str(target)),
            ("disk", stat.S_IFBLK, ""),
        ):
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, content)
    return folder / "app.zip"


def false_format(folder: Path) -> Path:
    """A tar whose first member is named like a zip's magic, so that two readers see two apps."""
    with _tar(folder / "app.tar", honest=False) as tar:
        _member(tar, "PK\x03\x04", b"x")
        for name, text in HONEST.items():
            _member(tar, name, text.encode())
    return folder / "app.tar"


def sparse_giant(folder: Path) -> Path:
    """Fifty gigabytes of hole in one kilobyte."""
    with _tar(folder / "app.tar") as tar:
        info = tarfile.TarInfo("hole")
        info.pax_headers = {
            "GNU.sparse.major": "0",
            "GNU.sparse.minor": "1",
            "GNU.sparse.name": "hole",
            "GNU.sparse.size": str(50 * 1024**3),
            "GNU.sparse.map": "0,1",
        }
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    return folder / "app.tar"


def compressed_bomb(folder: Path) -> Path:
    """Four gigabytes of zeros, compressed twice a thousandfold."""
    info = tarfile.TarInfo("zeros")
    info.size = 4 * 1024**3
    with gzip.open(folder / "app.tar.gz", "wb", compresslevel=6) as out:
        out.write(_open_end(honest_tar(folder)))
        out.write(info.tobuf(tarfile.GNU_FORMAT))
        block = bytes(1024 * 1024)
        for _ in range(48):  # what is announced is enough; nobody has to read it all
            out.write(block)
    return folder / "app.tar.gz"


def zip_bomb(folder: Path) -> Path:
    """A zip that says a member is small, and whose data are not."""
    path = folder / "app.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in HONEST.items():
            archive.writestr(name, text)
        with archive.open("zeros", "w", force_zip64=True) as member:
            for _ in range(64):
                member.write(bytes(1024 * 1024))
    return path


def endless_streams(folder: Path) -> Path:
    """Compressed streams of nothing, one after the other: work that no byte count sees."""
    path = folder / "app.tar.gz"
    empty = gzip.compress(b"", mtime=0)
    path.write_bytes(gzip.compress(honest_tar(folder).read_bytes()) + empty * 20_000)
    return path


def too_many_members(folder: Path) -> Path:
    """More members than the budget, each empty."""
    header = tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT)
    with gzip.open(folder / "app.tar.gz", "wb", compresslevel=1) as out:
        out.write(_open_end(honest_tar(folder)))
        for _ in range(250):
            out.write(header * 10)
    return folder / "app.tar.gz"


def endless_name(folder: Path) -> Path:
    """A name longer than any file system takes."""
    with _tar(folder / "app.tar") as tar:
        _member(tar, "a/" * 2100 + "x", b"x")
    return folder / "app.tar"


def deep_tree(folder: Path) -> Path:
    """Folders so deep that walking them would recurse without end."""
    with _tar(folder / "app.tar") as tar:
        _member(tar, "/".join("d" * 400) + "/x", b"x")
    return folder / "app.tar"


def huge_header(folder: Path) -> Path:
    """An extended header that announces two gigabytes."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 2 * 1024**3
    path = folder / "app.tar"
    path.write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + bytes(4096))
    return path


def zip_directory_bomb(folder: Path) -> Path:
    """An end record that announces a directory of almost four gigabytes."""
    path = folder / "app.zip"
    local = b"PK\x03\x04" + bytes(26)
    end = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 1, 1, 0xFFFF_FF00, 0, 0)
    path.write_bytes(local + end)
    return path


def cut_short(folder: Path) -> Path:
    """Half an archive: what is there must not be taken for the whole."""
    whole = gzip.compress(honest_tar(folder).read_bytes())
    path = folder / "app.tar.gz"
    path.write_bytes(whole[: len(whole) // 2])
    return path


def crc_lie(folder: Path) -> Path:
    """A zip whose content is not what its checksum says."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in HONEST.items():
            archive.writestr(name, text)
    data = buffer.getvalue()
    old = struct.pack("<L", zlib.crc32(HONEST["setup-environment.sh"].encode()))
    path = folder / "app.zip"
    path.write_bytes(data.replace(old, b"\1\2\3\4"))
    return path


def _open_end(path: Path) -> bytes:
    """A tar without its end, so that more can follow."""
    data = path.read_bytes().rstrip(b"\0")
    return data + b"\0" * (-len(data) % 512)
