# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Zones for tests; when coverage is measured, zone daemons and their kin are measured as well."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vibench_gym
from vibench_gym.sandbox.cleanup import janitor_list
from vibench_gym.sandbox.zone import client as zone_client
from vibench_gym.sandbox.zone import zone as zone_module
from vibench_gym.sandbox.zone.uids import UidLease
from vibench_gym.sandbox.zone.zone import Zone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MIB = 1024 * 1024

# The daemon leaves by os._exit, from a root of its own in which the host is below /outer/host.
_MEASURED = """
import sys, os
sys.path += sys.argv[1:3]
import coverage
measured = coverage.Coverage(data_file=sys.argv[3], data_suffix=True, branch=True,
                             source=["vibench_gym"], config_file=False)
module = sys.argv[4]
del sys.argv[1:5]
measured.start()
leave = os._exit
def save_and_leave(code):
    try:
        measured.stop()
        if os.path.isdir("/outer/host"):
            os.chroot("/outer/host")
        measured.save()
    finally:
        leave(code)
os._exit = save_and_leave
import importlib
try:
    importlib.import_module(module).main()
finally:
    measured.stop()
    measured.save()
"""


@pytest.fixture(autouse=True, scope="session")
def _daemons_are_measured() -> Iterator[None]:
    coverage = sys.modules.get("coverage")
    current = coverage.Coverage.current() if coverage is not None else None
    if coverage is None or current is None:
        yield
        return
    source = str(Path(vibench_gym.__file__).parents[1])
    packages = str(Path(str(coverage.__file__)).parents[1])
    data_file = str(Path(current.config.data_file).absolute())

    def command(module: str, *arguments: str) -> list[str]:
        fixed = [sys.executable, "-I", "-S", "-c", _MEASURED]
        return [*fixed, source, packages, data_file, module, *arguments]

    with pytest.MonkeyPatch.context() as patch:
        for user in (janitor_list, zone_client, zone_module):
            patch.setattr(user, "isolated_python", command)
        yield


@pytest.fixture
def uids() -> Iterator[UidLease]:
    lease = UidLease.acquire()
    yield lease
    lease.release()


@pytest.fixture
async def zone(uids: UidLease) -> AsyncIterator[Zone]:
    async with Zone(snapshot=None, state_bytes=256 * MIB, uids=uids, name="test") as opened:
        yield opened
