# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a seccomp filter's program as the kernel would, for tests of what it answers."""

from __future__ import annotations

import errno
import struct

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003}


def refused(number: int = errno.EPERM) -> int:
    """The answer that makes a call fail with an error."""
    return 0x00050000 | number


def answer(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """What a filter returns for a call."""
    call = struct.pack(
        "=IIQ6Q", number, ARCHITECTURES[machine], 0, *arguments, *[0] * (6 - len(arguments))
    )
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
