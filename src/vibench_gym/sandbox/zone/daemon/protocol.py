# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""How grader, zone daemon and launchers talk: length-prefixed JSON, file descriptors beside it.

Both ends are ours, yet every frame is bounded: a frame may quote what a box did. Bulk data never
travels in a frame; it goes through a memory file whose descriptor does. The daemon imports
this module without site-packages: only the standard library may be used, and little of it.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MAX_FRAME = 1024 * 1024
MAX_FDS = 16
_HEADER = struct.Struct(">IB")
_ENTRY = struct.Struct(">IQ")


class ProtocolBroken(Exception):
    """The other end sent something that is not a frame."""


class Decoder:
    """Turns received bytes and descriptors into frames; owns descriptors not handed out yet."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._fds: list[int] = []

    def receive(self, sock: socket.socket) -> bool:
        """Read once from a readable socket; False at the end of the stream.

        Raises:
            OSError: the socket is broken or has nothing to read.
        """
        size = array.array("i").itemsize * MAX_FDS
        data, ancillary, _flags, _address = sock.recvmsg(
            65536, socket.CMSG_SPACE(size), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
                self._fds.extend(fds)
        self._buffer += data
        return bool(data)

    def frames(self) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """The complete frames received so far, each with its descriptors (now the caller's).

        Raises:
            ProtocolBroken: a frame is too long, is not an object, or lacks its descriptors.
        """
        while len(self._buffer) >= _HEADER.size:
            length, count = _HEADER.unpack_from(self._buffer)
            if length > MAX_FRAME:
                raise ProtocolBroken(f"frame of {length} bytes, at most {MAX_FRAME} allowed")
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            message = json.loads(bytes(self._buffer[_HEADER.size : end]))
            if not isinstance(message, dict) or len(self._fds) < count:
                raise ProtocolBroken("frame is not an object or lacks its descriptors")
            del self._buffer[:end]
            fds, self._fds = self._fds[:count], self._fds[count:]
            yield message, fds

    def close(self) -> None:
        """Close descriptors that nobody took."""
        close_all(self._fds)
        self._fds = []


def encode(message: Mapping[str, Any], descriptors: int = 0) -> bytes:
    """The bytes of a frame; its descriptors are sent with the first of them.

    Raises:
        ValueError: the message is too long or has too many descriptors.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME or descriptors > MAX_FDS:
        raise ValueError(f"message of {len(body)} bytes, {descriptors} descriptors does not fit")
    return _HEADER.pack(len(body), descriptors) + body


def send(sock: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    """Send one frame on a blocking socket.

    Raises:
        OSError: the other end is gone.
        ValueError: the message does not fit.
    """
    data = encode(message, len(fds))
    sent = socket.send_fds(sock, [data], list(fds)) if fds else sock.send(data)
    sock.sendall(data[sent:])


def close_all(fds: Sequence[int]) -> None:
    """Close descriptors; those that are closed already are skipped."""
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            continue


def pack_file(path: str, data: bytes) -> bytes:
    """One file in the bulk format of put and get."""
    name = os.fsencode(path)
    return _ENTRY.pack(len(name), len(data)) + name + data


def unpack_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a bulk payload.

    Raises:
        ProtocolBroken: the payload ends early.
    """
    offset = 0
    while offset < len(data):
        if offset + _ENTRY.size > len(data):
            raise ProtocolBroken("bulk payload ends early")
        name_size, size = _ENTRY.unpack_from(data, offset)
        start = offset + _ENTRY.size + name_size
        if start + size > len(data):
            raise ProtocolBroken("bulk payload ends early")
        yield os.fsdecode(data[start - name_size : start]), data[start : start + size]
        offset = start + size
