# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""What the filter answers, by running its program."""

from __future__ import annotations

import errno
import struct

import pytest

from vibench_gym.sandbox.zone.daemon import seccomp

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
