# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What callers do with a zone, with real namespaces and processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.boxes import python, shell
from vibench_gym.core.config import ProcessLimits
from vibench_gym.core.errors import PrerequisiteMissing, SandboxUnavailable
from vibench_gym.sandbox import control_groups
from vibench_gym.sandbox.cleanup import janitor
from vibench_gym.sandbox.cleanup.tree_removal import remove_tree
from vibench_gym.sandbox.zone.box import Bind, BoxSpec, StateLimitReached
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from vibench_gym.sandbox.zone.uids import UidLease

pytestmark = pytest.mark.sandbox
MIB = 1024 * 1024

SERVER = """
import http.server, socket, sys
class Server(http.server.HTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from the box")
Server((sys.argv[1], 8000), Handler).serve_forever()
"""


def server(address: str) -> BoxSpec:
    spec = python(SERVER)
    return replace(spec, argv=(*spec.argv, address))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 (the other side is another process)
            await asyncio.sleep(0.02)


async def until_listening(zone: Zone, port: int) -> None:
    async def listens() -> bool:
        return port in await zone.listening_ports()

    await until(listens)


async def test_run_separates_outputs_and_tells_the_exit_code(zone: Zone) -> None:
    result = await zone.run(shell("cat; echo problem >&2; exit 7"), stdin=b"in\xff", timeout_s=20)
    assert (result.stdout, result.stderr) == ("in\ufffd", "problem\n")
    assert (result.return_code, result.error_type) == (7, None)


async def test_a_command_killed_by_a_signal_has_a_shells_code(zone: Zone) -> None:
    result = await zone.run(shell("kill -SEGV $$"), timeout_s=20)
    assert result.return_code == 128 + signal.SIGSEGV
    assert result.error_type is None


async def test_timeout_ends_everything_the_command_started(zone: Zone) -> None:
    script = "setsid sleep 1000 & (trap '' TERM; sleep 1000) & echo begun; sleep 1000"
    result = await zone.run(shell(script), timeout_s=1)
    assert (result.return_code, result.error_type) == (125, "timeout")
    assert result.stdout == "begun\n"
    assert (await zone.usage()).processes == 0


async def test_what_a_finished_command_left_running_is_dead(zone: Zone) -> None:
    result = await zone.run(shell("setsid nohup sleep 1000 >/dev/null 2>&1 & exit 3"), timeout_s=20)
    assert result.return_code == 3
    assert (await zone.usage()).processes == 0


async def test_cancelling_a_run_ends_it(zone: Zone) -> None:
    task = asyncio.create_task(zone.run(server("127.0.0.1"), timeout_s=100))
    await until_listening(zone, 8000)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await zone.usage()).processes == 0


async def test_cancelling_while_the_box_is_built_leaves_nothing(zone: Zone) -> None:
    for number in range(60):
        run = asyncio.create_task(zone.run(shell("sleep 1000"), timeout_s=1000))
        await asyncio.sleep(number * 0.0002)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    async def nothing_is_left() -> bool:
        return (await zone.usage()).processes == 0

    await until(nothing_is_left)


async def test_environment_is_what_was_given_and_little_more(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    spec = replace(shell("env | cut -d= -f1 | sort | tr '\\n' ' '"), env={"GIVEN": "1"})
    names = (await zone.run(spec, timeout_s=20)).stdout.split()
    assert set(names) <= {"GIVEN", "HOME", "LANG", "PATH", "TZ", "USER", "PWD", "SHLVL", "_"}
    assert "GIVEN" in names


@pytest.mark.parametrize(("user", "uid"), [("app", 1000), ("database", 999), ("browser", 1001)])
async def test_each_user_has_its_own_uid_name_and_writable_home(
    zone: Zone, user: str, uid: int
) -> None:
    spec = BoxSpec(("/bin/bash", "-c", "id -u; touch ~/x /tmp/x && id -un"), user, {}, ())  # type: ignore[arg-type]
    result = await zone.run(spec, timeout_s=20)
    assert result.stdout.split()[0] == str(uid)
    assert result.return_code == 0


async def test_host_sources_below_private_folders_can_be_bound(zone: Zone, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "shown").write_text("text")
    (private / "shown").chmod(0o644)
    spec = shell("cat /data; echo changed > /data")
    spec = replace(spec, binds=(*spec.binds, Bind("/data", source=private / "shown")))
    result = await zone.run(spec, timeout_s=20)
    assert result.stdout == "text"
    assert "Read-only file system" in result.stderr


async def test_state_folders_persist_and_can_be_shown_read_only(zone: Zone) -> None:
    await zone.run(shell("echo kept > /app/file"), timeout_s=20)
    spec = replace(shell("cat /app/file; touch /app/x"), binds=(Bind("/app", state="app"),))
    result = await zone.run(spec, timeout_s=20)
    assert result.stdout == "kept\n"
    assert result.return_code != 0


async def test_tmp_is_shared_by_the_apps_boxes_only(zone: Zone) -> None:
    await zone.run(shell("echo mine > /tmp/file"), timeout_s=20)
    assert (await zone.run(shell("cat /tmp/file"), timeout_s=20)).stdout == "mine\n"
    browser = replace(shell("ls /tmp"), user="browser", binds=())
    assert (await zone.run(browser, timeout_s=20)).stdout == ""


async def test_a_box_logs_to_its_file_and_appends(zone: Zone, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    for word in ("first", "second"):
        spec = replace(shell(f"echo {word}; echo {word} error >&2"), log_path=log)
        box = await zone.spawn(spec)
        assert await box.wait(20) == 0
        assert await box.output_tail(7) == " error\n"
    assert log.read_text() == "first\nfirst error\nsecond\nsecond error\n"


async def test_wait_times_out_and_terminate_asks_first(zone: Zone) -> None:
    box = await zone.spawn(shell("trap 'echo bye; exit 9' TERM; sleep 1000 & wait"))
    with pytest.raises(TimeoutError):
        await box.wait(0.5)
    assert await box.terminate(grace_s=10) == 9
    assert await box.output_tail() == "bye\n"
    assert await box.terminate() == 9


async def test_terminate_kills_what_does_not_listen(zone: Zone) -> None:
    box = await zone.spawn(shell("trap '' TERM INT HUP; while true; do sleep 1; done"))
    assert await box.terminate(grace_s=0.5) == 137
    assert not box.killed


async def test_a_signal_goes_to_the_command_alone(zone: Zone) -> None:
    listening = "(trap 'exit 5' USR1; echo ready; sleep 3)"
    box = await zone.spawn(shell(f"trap 'exit 4' USR1; {listening} & wait $!"))

    async def ready() -> bool:
        return "ready" in await box.output_tail()

    await until(ready)
    await box.signal(signal.SIGUSR1)
    assert await box.wait(20) == 4


async def test_an_early_signal_is_not_lost(zone: Zone) -> None:
    box = await zone.spawn(shell("sleep 1000"))
    await box.signal(signal.SIGTERM)
    assert await box.wait(20) == 128 + signal.SIGTERM


@pytest.mark.parametrize(("family", "address"), [("ipv4", "127.0.0.1"), ("ipv6", "::1")])
async def test_connect_reaches_a_server_in_the_zone(zone: Zone, family: str, address: str) -> None:
    with pytest.raises(ConnectionRefusedError):
        await zone.connect(8000, family=family)  # type: ignore[arg-type]
    await zone.spawn(server(address))
    await until_listening(zone, 8000)
    sock = await zone.connect(8000, family=family)  # type: ignore[arg-type]
    reader, writer = await asyncio.open_connection(sock=sock)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"hello from the box")
    writer.close()
    await writer.wait_closed()


async def test_a_box_reaches_a_server_of_ours_in_the_zone(zone: Zone) -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"from the grader\n")
        writer.close()

    listener = await zone.listen(3141)
    with pytest.raises(OSError, match="in use"):
        await zone.listen(3141)
    async with await asyncio.start_server(answer, sock=listener):
        script = "exec 3<>/dev/tcp/127.0.0.1/3141; cat <&3; exec 3<>/dev/tcp/postgres/3141; cat <&3"
        result = await zone.run(shell(script), timeout_s=20)
    assert result.stdout == "from the grader\n" * 2


async def test_two_zones_do_not_share_ports(zone: Zone, uids: UidLease) -> None:
    async with Zone(snapshot=None, state_bytes=64 * MIB, uids=uids) as other:
        for one in (zone, other):
            await one.spawn(server("127.0.0.1"))
            await until_listening(one, 8000)


async def test_a_box_without_network_has_no_port_to_reach(zone: Zone) -> None:
    await zone.spawn(server("127.0.0.1"))
    await until_listening(zone, 8000)
    spec = replace(shell("exec 3<>/dev/tcp/127.0.0.1/8000"), network=False)
    assert (await zone.run(spec, timeout_s=20)).return_code != 0


async def test_files_go_in_and_come_out(zone: Zone) -> None:
    files = {"seed.sh": b"#!/bin/sh\n", "data/a/b.bin": bytes(range(256)) * 5000}
    await zone.put_files("seeding", files)
    assert await zone.get_files("seeding", max_files=10, max_bytes=2 * MIB) == files
    spec = replace(shell("stat -c %U /s/seed.sh /s/data"), binds=(Bind("/s", state="seeding"),))
    assert (await zone.run(spec, timeout_s=20)).stdout == "app\napp\n"


async def test_links_are_never_followed_out_of_a_folder(zone: Zone, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    script = f"""cd /app; ln -s /etc/passwd link; ln -s {tmp_path}/target folder; mkfifo fifo
        ln -s /proc/self/environ environ; mkdir real; echo x > real/file"""
    await zone.run(shell(script), timeout_s=20)
    files = await zone.get_files("app", max_files=10, max_bytes=MIB)
    assert files == {"real/file": b"x\n"}
    await zone.put_files("app", {"folder/planted": b"y", "link": b"z", "fifo/x": b"f"})
    assert not (tmp_path / "target" / "planted").exists()
    files = await zone.get_files("app", max_files=10, max_bytes=MIB)
    assert files["folder/planted"] == b"y"
    assert files["link"] == b"z"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "", "/", "a/./b"])
async def test_paths_that_leave_the_folder_are_refused(zone: Zone, path: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not a path below"):
        await zone.put_files("app", {path: b""})


async def test_too_many_files_or_bytes_are_a_limit_reached(zone: Zone) -> None:
    await zone.run(shell("cd /app; touch a b c; truncate -s 1G sparse"), timeout_s=20)
    with pytest.raises(StateLimitReached):
        await zone.get_files("app", max_files=2, max_bytes=MIB)
    with pytest.raises(StateLimitReached):
        await zone.get_files("app", max_files=10, max_bytes=MIB)


async def test_one_file_comes_out(zone: Zone, tmp_path: Path) -> None:
    await zone.put_files("app", {"a/b": b"data"})
    await zone.get_file("app", "a/b", tmp_path / "b", max_bytes=4)
    assert (tmp_path / "b").read_bytes() == b"data"
    with pytest.raises(StateLimitReached):
        await zone.get_file("app", "a/b", tmp_path / "b", max_bytes=3)
    with pytest.raises(FileNotFoundError):
        await zone.get_file("app", "a/c", tmp_path / "c", max_bytes=3)


async def test_a_snapshot_is_taken_and_stays_as_it_was(uids: UidLease, tmp_path: Path) -> None:
    source, snapshot = tmp_path / "source", tmp_path / "snapshot"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "file").write_text("one")
    (source / "link").symlink_to("sub/file")
    async with Zone(snapshot=None, state_bytes=64 * MIB, uids=uids) as zone:
        await zone.import_tree(source, "app", "app")
        await zone.import_tree(source, "database", "database")
        await zone.run(shell("chmod 000 /app/sub/file; mkdir -m 000 /app/closed"), timeout_s=20)
        await zone.export_state(snapshot)
    for _ in range(2):
        async with Zone(snapshot=snapshot, state_bytes=64 * MIB, uids=uids) as zone:
            script = """cd /app; chmod 600 sub/file; cat link; echo two > link; rm -r closed
                mv sub moved; touch new"""
            result = await zone.run(shell(script), timeout_s=20)
            assert (result.stdout, result.stderr) == ("one", "")
            database = Bind("/data", state="database", writable=True)
            spec = replace(shell("stat -c %U /data/link"), user="database", binds=(database,))
            assert (await zone.run(spec, timeout_s=20)).stdout == "postgres\n"
    assert not (snapshot / "app" / "new").exists()
    assert await asyncio.to_thread(remove_tree, snapshot)


async def test_export_refuses_while_a_box_writes(zone: Zone, tmp_path: Path) -> None:
    await zone.spawn(shell("sleep 1000"))
    with pytest.raises(SandboxUnavailable, match="still writes"):
        await zone.export_state(tmp_path / "snapshot")


async def test_usage_counts_boxes_and_files(zone: Zone) -> None:
    before = await zone.usage()
    await zone.run(shell("head -c 10M /dev/zero > /app/file"), timeout_s=20)
    box = await zone.spawn(python("x = bytearray(50 << 20); input()"))
    await zone.spawn(python("x = bytearray(50 << 20); import time; time.sleep(1000)"))

    async def used() -> bool:
        return (await zone.usage()).memory_bytes >= 40 * MIB

    await until(used)
    now = await zone.usage()
    assert now.processes >= 3
    assert now.state_bytes - before.state_bytes >= 10 * MIB
    assert await box.wait(20) == 1


async def test_a_box_that_cannot_be_built_says_why(zone: Zone) -> None:
    spec = replace(shell("true"), binds=(Bind("/usr/not/there", state="app"),))
    box = await zone.spawn(spec)
    with pytest.raises(SandboxUnavailable, match="/usr/not"):
        await box.wait(20)
    spec = replace(shell("true"), binds=(Bind("/x", source=Path("/does/not/exist")),))
    with pytest.raises(SandboxUnavailable, match="exist"):
        await zone.spawn(spec)
    with pytest.raises(ValueError, match="source or state"):
        await zone.spawn(replace(shell("true"), binds=(Bind("/x"),)))


async def test_arguments_and_environment_are_not_interpreted(zone: Zone) -> None:
    argv = ("/usr/bin/printf", "%s|", "a b", "$HOME", "*")
    result = await zone.run(replace(shell(""), argv=argv), timeout_s=20)
    given = replace(shell('cat; echo "$GIVEN"'), env={"GIVEN": "ä 1 $HOME"})

    assert result.stdout == "a b|$HOME|*|"
    assert (await zone.run(given, stdin=b"in\n", timeout_s=20)).stdout == "in\nä 1 $HOME\n"


async def test_a_missing_program_or_folder_is_the_commands_failure(zone: Zone) -> None:
    result = await zone.run(replace(shell("true"), cwd="/nowhere"), timeout_s=20)
    assert result.return_code == 127
    assert "/nowhere" in result.stderr
    result = await zone.run(replace(shell(""), argv=("/no/such/program",)), timeout_s=20)
    assert result.return_code == 127
    assert "/no/such/program" in result.stderr


async def test_the_daemons_death_ends_every_wait(uids: UidLease) -> None:
    zone = Zone(snapshot=None, state_bytes=64 * MIB, uids=uids)
    async with zone:
        box = await zone.spawn(shell("sleep 1000"))
        process = zone._client._process
        assert process is not None
        process.kill()
        with pytest.raises(SandboxUnavailable, match="gone"):
            await box.wait(20)
        with pytest.raises(SandboxUnavailable):
            await zone.usage()


async def test_close_twice_and_cancelled(uids: UidLease) -> None:
    await Zone(snapshot=None, state_bytes=64 * MIB, uids=uids).close()
    zone = await Zone(snapshot=None, state_bytes=64 * MIB, uids=uids).__aenter__()
    box = await zone.spawn(shell("sleep 1000"))
    daemon = zone._client._process
    work = zone._work
    assert daemon is not None
    assert work is not None
    closing = asyncio.create_task(zone.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert daemon.returncode is not None
    assert not work.path.exists()
    assert box.returncode is not None
    await zone.close()


async def test_a_group_that_the_kernel_still_holds_is_left_to_the_janitor(
    uids: UidLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[Path | str] = []
    with monkeypatch.context() as patch:
        patch.setattr(control_groups, "remove_zone", lambda _folders: False)
        patch.setattr(janitor, "forget", forgotten.append)
        async with Zone(snapshot=None, state_bytes=64 * MIB, uids=uids, name="held") as zone:
            groups = list(zone._groups)
    if not groups:
        pytest.skip("no control groups can be made here")
    for group in groups:
        assert group not in forgotten
        assert control_groups.remove_zone([str(group)])
        janitor.forget(group)


async def test_a_missing_snapshot_is_named(uids: UidLease, tmp_path: Path) -> None:
    zone = Zone(snapshot=tmp_path / "missing", state_bytes=64 * MIB, uids=uids)
    with pytest.raises(SandboxUnavailable, match="missing"):
        await zone.__aenter__()
    assert zone._client._process is None


@pytest.fixture
def background() -> Iterator[None]:
    """What `nohup` and a shell's `&` do to a program."""
    before = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def closed_umask() -> Iterator[None]:
    """What hardened hosts set."""
    before = os.umask(0o077)
    yield
    os.umask(before)


async def test_boxes_do_not_depend_on_the_operators_umask(closed_umask: None, zone: Zone) -> None:
    del closed_umask
    look = "umask; touch /tmp/new && stat -c %a / /etc/passwd /tmp/new"
    assert (await zone.run(shell(look), timeout_s=20)).stdout == "0022\n755\n644\n644\n"


async def test_programs_that_only_their_installer_can_read(zone: Zone, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o700)
    (tools / "tool").write_text("#!/bin/sh\necho used")
    (tools / "tool").chmod(0o755)
    spec = replace(shell("/opt/tools/tool"), binds=(Bind("/opt/tools", source=tools),))
    if zone.uids.dedicated:
        with pytest.raises(PrerequisiteMissing, match=r"mode 0700.*chmod -R go\+rX"):
            await zone.run(spec, timeout_s=20)
        tools.chmod(0o755)
    assert (await zone.run(spec, timeout_s=20)).stdout == "used\n"


async def test_signals_are_as_a_program_expects_them(background: None, zone: Zone) -> None:
    del background
    result = await zone.run(
        shell("grep -E 'Sig(Ign|Blk)' /proc/self/status; yes | head -1"), timeout_s=20
    )
    *masks, last = result.stdout.splitlines()
    # 32 and 33 belong to the C library: no program can set them, some launchers pass them on.
    ours = [int(mask.split()[1], 16) & ~(0b11 << 31) for mask in masks]
    assert (ours, last, result.stderr) == ([0, 0], "y", "")


async def test_limits_reach_the_box(zone: Zone) -> None:
    limits = ProcessLimits(processes=77, open_files=99, file_bytes=5 * MIB)
    result = await zone.run(
        shell("ulimit -u; ulimit -n; ulimit -f; ulimit -c", limits), timeout_s=20
    )
    assert result.stdout.split() == ["77", "99", str(5 * 1024), "0"]


class TestLauncher:
    async def _start(self, path: Path, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            path,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def test_passes_descriptors_and_arguments(self, zone: Zone) -> None:
        spec = replace(
            shell(""), argv=("/bin/bash", "-c", 'cat; echo "$0 $1" >&2; cat <&3; exit 5')
        )
        path = await zone.launcher(spec)
        reader, writer = os.pipe()
        os.write(writer, b"three")
        os.close(writer)
        done = await asyncio.to_thread(
            subprocess.run,
            ["/bin/bash", "-c", f'exec "$0" "$@" 3<&{reader}', str(path), "a b", "--c"],
            input=b"zero",
            capture_output=True,
            pass_fds=[reader],
            timeout=20,
            check=False,
        )
        os.close(reader)
        assert (done.stdout, done.stderr, done.returncode) == (b"zerothree", b"a b --c\n", 5)

    async def test_can_be_started_several_times(self, zone: Zone) -> None:
        path = await zone.launcher(shell("cat"))
        processes = [await self._start(path) for _ in range(3)]
        for number, process in enumerate(processes):
            out, _ = await asyncio.wait_for(process.communicate(b"%d" % number), 20)
            assert out == b"%d" % number

    async def test_killed_launcher_ends_its_box(self, zone: Zone) -> None:
        process = await self._start(await zone.launcher(shell("echo on; sleep 1000")))
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
        process.kill()
        await process.communicate()

        async def empty() -> bool:
            return (await zone.usage()).processes == 0

        await until(empty)

    async def test_ended_zone_ends_its_launchers(self, uids: UidLease) -> None:
        async with Zone(snapshot=None, state_bytes=64 * MIB, uids=uids) as zone:
            process = await self._start(await zone.launcher(shell("echo on; sleep 1000")))
            assert process.stdout is not None
            assert await asyncio.wait_for(process.stdout.readline(), 20) == b"on\n"
        await asyncio.wait_for(process.communicate(), 20)
        assert process.returncode == 125

    async def test_a_stranger_to_the_zone_starts_nothing(self, zone: Zone) -> None:
        path = await zone.launcher(shell("echo on"))
        text = path.read_text()
        token = text.split()[-2]
        path.write_text(text.replace(token, "0" * len(token)))
        process = await self._start(path)
        out, _ = await asyncio.wait_for(process.communicate(), 20)
        assert (out, process.returncode) == (b"", 125)
