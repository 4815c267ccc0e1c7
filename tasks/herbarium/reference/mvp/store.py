# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The specimens in PostgreSQL, photos included. Run as a program it creates the schema."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]

_COLUMNS = "id, name, place, found_on, notes, favourite, photo_name, photo_type, width, height"


@dataclass(frozen=True)
class Description:
    """What is known of a specimen besides its photo."""

    name: str
    place: str
    found_on: date | None
    notes: str


def connect() -> psycopg.Connection[Row]:
    return psycopg.connect(os.environ["POSTGRES_DATABASE_URL"], row_factory=dict_row)


def search(text: str) -> list[Row]:
    """Specimens whose name or place contains the text; favourites first, then by name."""
    with connect() as db:
        return db.execute(
            f"SELECT {_COLUMNS} FROM specimens"
            " WHERE strpos(lower(name || '\n' || place), lower(%s)) > 0"
            " ORDER BY favourite DESC, lower(name), id",
            (text,),
        ).fetchall()


def by_name() -> list[Row]:
    with connect() as db:
        return db.execute(f"SELECT {_COLUMNS} FROM specimens ORDER BY lower(name), id").fetchall()


def get(specimen_id: int) -> Row | None:
    with connect() as db:
        return db.execute(
            f"SELECT {_COLUMNS} FROM specimens WHERE id = %s", (specimen_id,)
        ).fetchone()


def photo(specimen_id: int) -> Row | None:
    with connect() as db:
        return db.execute(
            "SELECT photo, photo_name, photo_type FROM specimens WHERE id = %s", (specimen_id,)
        ).fetchone()


def add(what: Description, photo_name: str, photo_type: str, size: tuple[int, int], photo: bytes) -> int:
    with connect() as db:
        row = db.execute(
            "INSERT INTO specimens (name, place, found_on, notes,"
            " photo_name, photo_type, width, height, photo)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
            (what.name, what.place, what.found_on, what.notes, photo_name, photo_type, *size, photo),
        ).fetchone()
    assert row is not None
    return int(row["id"])


def update(specimen_id: int, what: Description) -> None:
    with connect() as db:
        db.execute(
            "UPDATE specimens SET name = %s, place = %s, found_on = %s, notes = %s WHERE id = %s",
            (what.name, what.place, what.found_on, what.notes, specimen_id),
        )


def toggle_favourite(specimen_id: int) -> None:
    with connect() as db:
        db.execute("UPDATE specimens SET favourite = NOT favourite WHERE id = %s", (specimen_id,))


def delete(specimen_id: int) -> None:
    with connect() as db:
        db.execute("DELETE FROM specimens WHERE id = %s", (specimen_id,))


if __name__ == "__main__":
    with connect() as database:
        database.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
