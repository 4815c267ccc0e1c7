# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What a box sees of what no namespace covers: nothing; and what programs need stays."""

from __future__ import annotations

import asyncio
import platform
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support.boxes import python, shell
from vibench_gym.core.config import MIB
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vibench_gym.sandbox.zone.box import BoxSpec, BoxUser

pytestmark = pytest.mark.sandbox
USERS: tuple[BoxUser, ...] = ("app", "database", "browser")


def as_user(spec: BoxSpec, user: BoxUser) -> BoxSpec:
    return replace(spec, user=user, nested_userns=user == "browser")


async def out(zone: Zone, spec: BoxSpec) -> str:
    result = await zone.run(spec, timeout_s=60)
    assert result.error_type is None
    return result.stdout + result.stderr


@pytest.fixture
async def other() -> AsyncIterator[Zone]:
    """A second rollout's zone."""
    uids = await asyncio.to_thread(UidLease.acquire)
    async with Zone(snapshot=None, state_bytes=128 * MIB, uids=uids, name="other") as opened:
        yield opened
    uids.release()


@pytest.mark.parametrize("user", USERS)
async def test_sockets_of_other_families_are_unknown(zone: Zone, user: BoxUser) -> None:
    code = """
import errno, socket
known = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
tried = [(n, kind, 0) for n in range(64) if n not in known for kind in (1, 2, 3, 5)]
tried = [one for one in tried if one[0] != socket.AF_NETLINK]
tried += [(socket.AF_NETLINK, socket.SOCK_RAW, protocol) for protocol in range(1, 32)]
for call in (socket.socket, socket.socketpair):
    for one in tried:
        try:
            call(*one)
            print("made", one)
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT: print(one, error)
print("done", len(tried) > 200)
"""
    assert await out(zone, as_user(python(code), user)) == "done True\n"


@pytest.mark.parametrize("user", USERS)
async def test_what_libraries_need_of_sockets_is_there(zone: Zone, user: BoxUser) -> None:
    code = """
import asyncio, socket
print([name for _, name in socket.if_nameindex()], socket.if_nametoindex("lo"))
for family in (socket.AF_INET, socket.AF_INET6):
    print(socket.getaddrinfo("localhost", 80, family)[0][4][0])
async def main():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    for host in ("127.0.0.1", "::1"):
        server = await asyncio.start_server(serve, host, 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(b"hello\\n")
        print((await reader.readline()).decode().strip())
asyncio.run(main())
one, other = socket.socketpair()
one.send(b"pair")
print(other.recv(9).decode())
"""
    told = await out(zone, as_user(python(code), user))
    assert told == "['lo'] 1\n127.0.0.1\n::1\nhello\nhello\npair\n"


@pytest.mark.parametrize("user", USERS)
async def test_calls_that_reach_past_namespaces_are_refused(zone: Zone, user: BoxUser) -> None:
    code = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if os.uname().machine == "x86_64" else 1
room = ctypes.create_string_buffer(256)
calls = {"keyctl": ((250, 219), (0, -3, 1)), "add_key": ((248, 217), (b"user", b"x", b"x", 1, -4)),
         "request_key": ((249, 218), (b"user", b"x", 0, -4)), "bpf": ((321, 280), (0, room, 256)),
         "perf_event_open": ((298, 241), (room, 0, -1, -1, 0)), "userfaultfd": ((323, 282), (1,)),
         "io_uring_setup": ((425, 425), (8, room)), "pidfd_getfd": ((438, 438), (0, 0, 0)),
         "setns": ((308, 268), (0, 0)), "clock_settime": ((227, 112), (1, room)),
         "syslog": ((103, 116), (10, 0, 0)), "open_by_handle_at": ((304, 265), (0, room, 0))}
for name, (numbers, arguments) in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(numbers[column], *arguments) >= 0 or ctypes.get_errno() != errno.EPERM:
        print(name, errno.errorcode.get(ctypes.get_errno()))
print("done")
"""
    assert await out(zone, as_user(python(code), user)) == "done\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have one table of calls")
@pytest.mark.parametrize("user", USERS)
async def test_calls_by_another_table_make_no_socket(zone: Zone, user: BoxUser) -> None:
    code = """
import ctypes, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(0x40000000 | 41, 40, 1, 0), os.strerror(ctypes.get_errno()), flush=True)
low = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
at = ctypes.addressof(ctypes.c_char.from_buffer(low))
low[64:76] = struct.pack("=III", 40, 1, 0)
# socketcall(SOCKET, {AF_VSOCK, SOCK_STREAM, 0}) as a 32-bit program says it
code = b"\\x53\\xb8" + struct.pack("=I", 102) + b"\\xbb" + struct.pack("=I", 1)
code += b"\\xb9" + struct.pack("=I", at + 64) + b"\\xcd\\x80\\x5b\\xc3"
low[:len(code)] = code
child = os.fork()
if child == 0:
    print("made", ctypes.CFUNCTYPE(ctypes.c_int)(at)(), flush=True)
    os._exit(0)
print(os.WIFSIGNALED(os.waitpid(child, 0)[1]))
"""
    told = await out(zone, as_user(python(code), user))
    assert told == "-1 Function not implemented\nTrue\n"


@pytest.mark.parametrize("user", USERS)
async def test_the_hosts_own_files_of_proc_are_empty(zone: Zone, user: BoxUser) -> None:
    script = """cd /proc; for name in cmdline interrupts kallsyms kcore key-users keys \\
        latency_stats locks modules sched_debug timer_list timer_stats; do
        test ! -e $name || test -z "$(head -c 1 $name | tr '\\0' x)" || echo $name; done
        for name in acpi asound driver fs pressure scsi; do ls $name 2>/dev/null; done
        (echo 'some 500000 2000000' > pressure/cpu) 2>/dev/null && echo pressure; true"""
    assert await out(zone, as_user(shell(script), user)) == ""


async def test_what_programs_read_of_proc_is_there(zone: Zone) -> None:
    script = """cd /proc; for name in cpuinfo filesystems loadavg meminfo stat uptime version \\
        vmstat self/status self/maps self/cmdline net/dev net/tcp net/route diskstats; do
        test -n "$(head -c 1 $name | tr '\\0' x)" || echo $name; done; nproc > /dev/null"""
    assert await out(zone, shell(script)) == ""


async def test_names_of_one_rollout_are_unknown_in_another(zone: Zone, other: Zone) -> None:
    """System V and POSIX IPC, abstract sockets, shared memory by name."""
    library = """
import ctypes, socket, os
libc = ctypes.CDLL(None, use_errno=True)
NEW = 0o1000
def sysv(flags):
    return [libc.shmget(77, 99, flags), libc.semget(77, 1, flags), libc.msgget(77, flags)]
"""
    make = """
print(min(sysv(NEW | 0o666)) >= 0, libc.mq_open(b"/n", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0,
      libc.shm_open(b"/n", os.O_CREAT | os.O_RDWR, 0o666) >= 0)
server = socket.socket(socket.AF_UNIX); server.bind("\\0n"); server.listen()
print("up", flush=True)
import time; time.sleep(1000)
"""
    find = """
print([one >= 0 for one in sysv(0)], libc.mq_open(b"/n", os.O_RDWR) >= 0,
      libc.shm_open(b"/n", os.O_RDWR, 0) >= 0)
try:
    socket.socket(socket.AF_UNIX).connect("\\0n"); print("reached")
except ConnectionRefusedError: print("refused")
"""
    box = await zone.spawn(python(library + make))
    async with asyncio.timeout(60):
        while "up" not in await box.output_tail():
            assert box.returncode is None
            await asyncio.sleep(0.02)
    assert (await box.output_tail()).startswith("True True True\n")
    told = await out(other, python(library + find))
    assert told == "[False, False, False] False False\nrefused\n"
