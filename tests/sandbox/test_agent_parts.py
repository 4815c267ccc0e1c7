# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The agent's parts that are plain code: frames, logs, options, filter, /proc readers."""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.core.config import ProcessLimits
from vibench_gym.sandbox.cleanup.janitor import python_command
from vibench_gym.sandbox.zone.box import Bind, BoxSpec
from vibench_gym.sandbox.zone.daemon import (
    boxes,
    cgroup,
    files,
    launcher,
    root,
    seccomp,
    watch,
)
from vibench_gym.sandbox.zone.daemon.bounded_log import BoundedLog
from vibench_gym.sandbox.zone.daemon.bwrap_arguments import bwrap_arguments, memory_folders
from vibench_gym.sandbox.zone.daemon.protocol import (
    MAX_FRAME,
    Decoder,
    ProtocolBroken,
    encode,
    pack_file,
    send,
    unpack_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestProtocol:
    @pytest.fixture
    def ends(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        left, right = socket.socketpair()
        with left, right:
            yield left, right

    def test_frames_arrive_with_their_descriptors(
        self, ends: tuple[socket.socket, socket.socket]
    ) -> None:
        left, right = ends
        reader, writer = os.pipe()
        send(left, {"a": 1}, [reader, writer])
        send(left, {"b": "ä"})
        decoder = Decoder()
        got: list[tuple[dict[str, Any], list[int]]] = []
        while len(got) < 2:
            assert decoder.receive(right)
            got += decoder.frames()
        (first, fds), (second, none) = got
        assert (first, second, none) == ({"a": 1}, {"b": "ä"}, [])
        os.write(fds[1], b"through")
        assert os.read(reader, 10) == b"through"
        for fd in (reader, writer, *fds):
            os.close(fd)

    def test_a_frame_may_come_in_pieces(self, ends: tuple[socket.socket, socket.socket]) -> None:
        left, right = ends
        decoder = Decoder()
        frames: list[Any] = []
        for byte in encode({"x": "y" * 50}):
            left.send(bytes([byte]))
            decoder.receive(right)
            frames += decoder.frames()
        assert frames == [({"x": "y" * 50}, [])]
        left.close()
        assert not decoder.receive(right)

    @pytest.mark.parametrize(
        "data",
        [
            struct.pack(">IB", MAX_FRAME + 1, 0),
            struct.pack(">IB", 2, 0) + b"[]",
            struct.pack(">IB", 2, 1) + b"{}",
        ],
    )
    def test_what_is_no_frame_is_refused(
        self, ends: tuple[socket.socket, socket.socket], data: bytes
    ) -> None:
        left, right = ends
        left.send(data)
        decoder = Decoder()
        decoder.receive(right)
        with pytest.raises(ProtocolBroken):
            list(decoder.frames())
        decoder.close()

    def test_too_much_is_not_sent(self) -> None:
        with pytest.raises(ValueError, match="does not fit"):
            encode({"x": "y" * MAX_FRAME})
        with pytest.raises(ValueError, match="does not fit"):
            encode({}, 1000)

    @given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.binary()))
    def test_bulk_files_round_trip(self, contents: dict[str, bytes]) -> None:
        payload = b"".join(pack_file(path, data) for path, data in contents.items())
        assert dict(unpack_files(payload)) == contents

    @pytest.mark.parametrize("cut", [1, 5, 14])
    def test_a_cut_payload_is_refused(self, cut: int) -> None:
        with pytest.raises(ProtocolBroken):
            list(unpack_files(pack_file("name", b"data")[:-cut]))


class TestBoundedLog:
    def _log(self, path: Path, limit: int) -> BoundedLog:
        return BoundedLog(os.open(path, os.O_RDWR | os.O_CREAT), limit)

    def test_short_output_is_kept_whole(self, tmp_path: Path) -> None:
        log = self._log(tmp_path / "log", 100)
        for _ in range(10):
            log.feed(b"0123456789")
        log.close()
        assert (tmp_path / "log").read_bytes() == b"0123456789" * 10

    @given(st.lists(st.binary(max_size=60)), st.integers(1, 50))
    def test_head_and_tail_are_kept_and_the_rest_counted(
        self, chunks: list[bytes], limit: int
    ) -> None:
        fd = os.memfd_create("log")
        log = BoundedLog(os.dup(fd), limit)
        for number, chunk in enumerate(chunks):
            log.feed(chunk)
            if number % 3 == 0:
                log.flush()
        log.close()
        kept, whole = os.pread(fd, 10_000, 0), b"".join(chunks)
        os.close(fd)
        if len(whole) <= limit:
            assert kept == whole
        else:
            dropped = len(whole) - limit
            tail = whole[len(whole) - (limit - limit // 2) :]
            assert kept == (
                whole[: limit // 2] + b"\n[... %d bytes left out ...]\n" % dropped + tail
            )

    def test_a_full_disk_costs_the_log_only(self) -> None:
        log = BoundedLog(os.open("/dev/full", os.O_WRONLY), 10)
        log.feed(b"x" * 100)
        log.close()


def options(**changes: Any) -> list[str]:
    fields: dict[str, Any] = {"argv": ("true",), "user": "app", "env": {}, "binds": ()}
    return bwrap_arguments(BoxSpec(**(fields | changes)).message(), lambda path: f"/stage{path}")


class TestBwrapArguments:
    @pytest.fixture(autouse=True)
    def _etc(self, monkeypatch: pytest.MonkeyPatch) -> None:
        listed = os.listdir
        monkeypatch.setattr(os, "listdir", lambda path: [] if path == "/etc-host" else listed(path))

    def test_every_box_is_closed(self) -> None:
        for user in ("app", "database", "browser"):
            got = options(user=user)
            for wanted in ("--unshare-user", "--unshare-pid", "--clearenv", "--disable-userns"):
                assert wanted in got
            text = " ".join(got)
            assert "--cap-drop ALL" in text
            assert "--ro-bind /proc/sys /proc/sys" in text
            assert text.index("--remount-ro /dev ") > text.index("--tmpfs /dev/shm")
            assert "--remount-ro / " in text

    def test_tmp_of_the_app_is_the_zones(self) -> None:
        assert "--bind /state/scratch/tmp /tmp" in " ".join(options())
        assert "--size 1073741824 --tmpfs /tmp" in " ".join(options(user="browser"))

    def test_binds_and_their_order(self) -> None:
        binds = (
            Bind("/app", state="app", writable=True),
            Bind("/app/x", source=Path("/usr/lib")),
            Bind("/tmp", state="tmp"),  # noqa: S108
        )
        text = " ".join(options(binds=binds))
        assert "--bind /files/app /app --ro-bind /stage/usr/lib /app/x --ro-bind /state/" in text
        assert "--bind /state/scratch/tmp" not in text

    def test_network_and_nested_namespaces(self) -> None:
        assert "--unshare-net" not in options()
        assert "--unshare-net" in options(network=False)
        assert "--disable-userns" not in options(nested_userns=True)

    def test_unknown_folders_are_refused(self) -> None:
        with pytest.raises(KeyError, match="no state folder"):
            options(binds=(Bind("/x", state="upper"),))

    def test_folders_in_memory_of_each_box(self) -> None:
        spec = BoxSpec(("true",), "database", {}, ()).message()
        assert set(memory_folders(spec)) == {"/tmp", "/home/postgres", "/dev/shm", "/var/tmp"}  # noqa: S108


ALLOWED, REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM


def _answer(program: bytes, call: bytes) -> int:
    """What a filter returns for a call's `seccomp_data`."""
    steps = list(struct.iter_unpack("=HBBI", program))
    place, loaded = 0, 0
    while True:
        code, if_true, if_false, value = steps[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", call, value)
            continue
        true = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
        place += if_true if true else if_false


class TestSeccomp:
    def test_the_program_is_whole_and_its_jumps_stay_inside(self) -> None:
        for machine in ("x86_64", "aarch64"):
            program = seccomp.box_filter(machine)
            assert program is not None
            steps = list(struct.iter_unpack("=HBBI", program))
            assert len(steps) < 4096
            for place, (code, if_true, if_false, _value) in enumerate(steps):
                if code & 7 == 5:
                    assert place + 1 + max(if_true, if_false) < len(steps)
            assert steps[-1][0] == 6

    def test_unknown_machines_have_none(self) -> None:
        assert seccomp.box_filter("vax") is None

    @pytest.mark.parametrize(
        ("machine", "architecture", "number", "argument", "answer"),
        [
            ("x86_64", 0xC000003E, 0, 1, ALLOWED),  # read
            ("x86_64", 0xC000003E, 101, 0, REFUSED),  # ptrace
            ("x86_64", 0xC000003E, 310, 0, REFUSED),  # process_vm_readv
            ("x86_64", 0xC000003E, 311, 0, REFUSED),  # process_vm_writev
            ("x86_64", 0xC000003E, 302, 0, ALLOWED),  # prlimit64
            ("x86_64", 0xC000003E, 302, 1, REFUSED),
            ("x86_64", 0xC000003E, 302, 1 << 32, ALLOWED),  # 0 for the kernel, too
            ("x86_64", 0xC000003E, 302, 1 << 32 | 1, REFUSED),
            ("x86_64", 0xC000003E, 56, 0x11, ALLOWED),  # clone
            ("x86_64", 0xC000003E, 56, 0x10000011, REFUSED),
            ("aarch64", 0xC00000B7, 117, 0, REFUSED),
            ("aarch64", 0xC00000B7, 270, 0, REFUSED),
            ("aarch64", 0xC00000B7, 271, 0, REFUSED),
            ("aarch64", 0xC00000B7, 261, 0, ALLOWED),
            ("aarch64", 0xC00000B7, 261, 1, REFUSED),
            ("aarch64", 0xC00000B7, 220, 0x11, ALLOWED),
            ("aarch64", 0xC00000B7, 220, 0x10000011, REFUSED),
        ],
    )
    def test_what_it_answers(
        self, machine: str, architecture: int, number: int, argument: int, answer: int
    ) -> None:
        program = seccomp.box_filter(machine)
        assert program is not None
        call = struct.pack("=IIQQ", number, architecture, 0, argument)
        assert _answer(program, call) == answer


class TestWatch:
    def test_our_own_children_are_found_and_measured(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            parents = watch.parents()
            assert parents[child.pid] == os.getpid()
            assert child.pid in watch.below(os.getpid(), parents)
            assert watch.resident_bytes([os.getpid(), 2**30]) > 1_000_000
            assert 0 < watch.proportional_bytes([os.getpid()]) < 10**10
            assert watch.exceeds_memory([os.getpid()], 1000)
            assert not watch.exceeds_memory([os.getpid()], 10**12)
        finally:
            child.communicate(b"\n")

    def test_listening_ports(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            assert server.getsockname()[1] in watch.listening_ports()

    def test_folders_in_memory(self) -> None:
        assert watch.memory_folder_bytes(os.getpid(), ["/dev/shm", "/not/there"]) >= 0  # noqa: S108


class TestFiles:
    def test_put_and_get(self, tmp_path: Path) -> None:
        (tmp_path / "in-the-way").mkdir()
        (tmp_path / "a").write_text("file where a folder is wanted")
        payload = pack_file("in-the-way", b"1") + pack_file("a/b", b"2") + pack_file("c", b"3")
        owner = os.getuid(), os.getgid()
        files.put(str(tmp_path), _descriptor(payload), owner, 0o755)
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o755
        (tmp_path / "closed").symlink_to("/etc")
        os.mkfifo(tmp_path / "fifo")
        got = tmp_path.with_name("got")
        target = os.open(got, os.O_WRONLY | os.O_CREAT)
        files.get(str(tmp_path), target, max_files=3, max_bytes=3)
        read = dict(unpack_files(got.read_bytes()))
        assert read == {"in-the-way": b"1", "a/b": b"2", "c": b"3"}

    def test_one(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b").write_text("text")
        target = tmp_path / "target"
        files.get_one(str(tmp_path), "a/b", os.open(target, os.O_WRONLY | os.O_CREAT), max_bytes=4)
        assert target.read_text() == "text"
        for path, most in (("a/b", 3), ("a", 9), ("a/c", 9), ("../x", 9)):
            fd = os.open(target, os.O_WRONLY)
            with pytest.raises(OSError, match=r"Errno"):
                files.get_one(str(tmp_path), path, fd, max_bytes=most)

    def test_trees(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        (source / "deep").mkdir(parents=True)
        (source / "deep" / "file").write_bytes(b"x" * 10_000)
        (source / "link").symlink_to("deep")
        target.mkdir()
        files.export_tree(str(source), str(target), 100_000)
        assert (target / "link").readlink() == Path("deep")
        with pytest.raises(OSError, match="larger than"):
            files.export_tree(str(source), str(target), 5000)
        owner = (os.getuid(), os.getgid())
        files.import_tree(str(source), str(target), owner)
        with pytest.raises(OSError, match="ended with"):
            files.copy_tree(str(tmp_path / "missing"), str(target))


def _descriptor(data: bytes) -> int:
    fd = os.memfd_create("payload")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class TestControlGroups:
    @pytest.fixture
    def base(self) -> dict[str, str]:
        base = cgroup.find_base()
        if not base:
            pytest.skip("no control groups are delegated to this user")
        return base

    def test_a_box_has_its_limits_and_is_removed(self, base: dict[str, str]) -> None:
        folders = cgroup.enable_controllers(base, f"test-{os.getpid()}")
        try:
            group = cgroup.BoxGroup(folders, "box", memory=100 << 20, processes=17)
            assert Path(folders["pids"], "box", "pids.max").read_text() == "17\n"
            assert not group.out_of_memory()
            assert all(path.endswith("/box/cgroup.procs") for path in group.join_paths())
            assert group.remove()
        finally:
            assert cgroup.remove_zone(sorted(set(folders.values())))
        assert not any(Path(folder).exists() for folder in folders.values())

    def test_removing_what_is_not_there_is_done(self) -> None:
        assert cgroup.remove_zone(["/sys/fs/cgroup/not-there/zone"])


class TestLauncher:
    def test_without_its_zone_it_ends_with_a_code_of_its_own(self, tmp_path: Path) -> None:
        command = python_command("zone.daemon.launcher", str(tmp_path), "token")
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (125, b"", b"")
        assert launcher.SOCKET_NAME


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be refused as root")
def test_bubblewrap_is_never_started_by_root() -> None:
    with pytest.raises(PermissionError, match="never runs as root"):
        boxes._refuse_root()


def test_state_folders_have_their_places() -> None:
    assert root.folder_path("venv") == "/files/venv"
    assert root.folder_path("seeding") == "/state/scratch/seeding"
    with pytest.raises(KeyError):
        root.folder_path("../x")


def test_limits_are_plain_numbers() -> None:
    assert all(isinstance(value, int) for value in ProcessLimits().model_dump().values())
