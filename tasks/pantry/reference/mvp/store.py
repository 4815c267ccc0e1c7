# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The pantry's items in PostgreSQL. Run as a program it creates the schema."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import psycopg
from psycopg.rows import class_row

SHELVES = ("Fridge", "Freezer", "Cupboard")
UNITS = ("pcs", "packs", "g", "ml")


class DuplicateName(Exception):
    """An item of that name, in whatever case, is there already."""


@dataclass(frozen=True)
class Item:
    id: int
    name: str
    quantity: int
    unit: str
    shelf: str
    best_before: date | None


def connect() -> psycopg.Connection[Item]:
    return psycopg.connect(
        os.environ["POSTGRES_DATABASE_URL"], autocommit=True, row_factory=class_row(Item)
    )


def in_stock(search: str = "", shelf: str = "") -> list[Item]:
    """Items on the shelves, the one to be eaten first on top."""
    with connect() as db:
        return db.execute(
            "SELECT * FROM items WHERE quantity > 0"
            " AND strpos(lower(name), lower(%(search)s)) > 0"
            " AND (%(shelf)s = '' OR shelf = %(shelf)s)"
            " ORDER BY best_before NULLS LAST, lower(name)",
            {"search": search, "shelf": shelf},
        ).fetchall()


def used_up() -> list[Item]:
    """Items of which nothing is left."""
    with connect() as db:
        return db.execute("SELECT * FROM items WHERE quantity = 0 ORDER BY lower(name)").fetchall()


def add(name: str, quantity: int, unit: str, shelf: str, best_before: date | None) -> None:
    with connect() as db:
        try:
            db.execute(
                "INSERT INTO items (name, quantity, unit, shelf, best_before)"
                " VALUES (%s, %s, %s, %s, %s)",
                (name, quantity, unit, shelf, best_before),
            )
        except psycopg.errors.UniqueViolation:
            raise DuplicateName(name) from None


def change_quantity(item_id: int, by: int) -> None:
    """Add `by` (or take away, if negative); never below nothing or above 999."""
    with connect() as db:
        db.execute(
            "UPDATE items SET quantity = least(999, greatest(0, quantity + %s)) WHERE id = %s",
            (by, item_id),
        )


def restock(item_id: int, quantity: int) -> None:
    """Put a bought item back on its shelf; the old date no longer holds."""
    with connect() as db:
        db.execute(
            "UPDATE items SET quantity = %s, best_before = NULL WHERE id = %s",
            (quantity, item_id),
        )


def delete(item_id: int) -> None:
    with connect() as db:
        db.execute("DELETE FROM items WHERE id = %s", (item_id,))


if __name__ == "__main__":
    with connect() as database:
        database.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
