# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Letters that look like Latin ones, as those: what a reader sees, for patterns in plain words.

Only for finding words that are hidden from a pattern; no text is ever shown or stored like this.
"""

from __future__ import annotations

import unicodedata
from typing import Final

# ruff: noqa: RUF001 (looking alike is what these letters are here for)
_PAIRS: Final = (
    "аa вb сc ԁd еe һh іi јj кk ӏl мm пn оo рp ԛq гr ѕs тt уy ԝw хx ѵv"  # Cyrillic
    " АA ВB СC ЕE НH ІI ЈJ КK МM ОO РP ЅS ТT ХX УY Ѵv"
    " αa βb γy εe ιi κk νv οo ρp τt υu χx ωw ηn"  # Greek
    " ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX"
    " օo սu հh ցg ոn ԛq"  # Armenian
    " ıi ɑa ɡg ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz"
)
_ENCLOSED: Final = (0x1F150, 0x1F170, 0x1F1E6)
"""First of 26 letters in filled circles, filled squares and halves of flags."""
_LATIN: Final = {
    **{ord(pair[0]): pair[1] for pair in _PAIRS.split()},
    **{first + number: chr(ord("a") + number) for first in _ENCLOSED for number in range(26)},
}


def as_latin(text: str) -> str:
    """The text with lookalikes as Latin letters and without marks above, below or through them."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return "".join(c for c in parts if not unicodedata.combining(c)).translate(_LATIN)
