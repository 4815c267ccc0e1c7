# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Recognises PNG and JPEG images by their content and reads how large they are."""

from __future__ import annotations

from dataclasses import dataclass

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
# Start-of-frame markers of JPEG; DHT, JPG and DAC lie between them and are none.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class NotAnImage(Exception):
    """The bytes are neither PNG nor JPEG."""


@dataclass(frozen=True)
class ImageInfo:
    type: str
    width: int
    height: int


def inspect(data: bytes) -> ImageInfo:
    if data.startswith(PNG) and data[12:16] == b"IHDR" and len(data) >= 24:
        return ImageInfo("image/png", _number(data[16:20]), _number(data[20:24]))
    if data.startswith(JPEG):
        width, height = _jpeg_size(data)
        return ImageInfo("image/jpeg", width, height)
    raise NotAnImage


def _jpeg_size(data: bytes) -> tuple[int, int]:
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        if data[position + 1] in FRAMES:
            height, width = data[position + 5 : position + 7], data[position + 7 : position + 9]
            return _number(width), _number(height)
        position += 2 + _number(data[position + 2 : position + 4])
    raise NotAnImage


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
