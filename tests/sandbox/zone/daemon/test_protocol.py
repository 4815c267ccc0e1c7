# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Frames and bulk payloads: bounded, whole, with their descriptors."""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
