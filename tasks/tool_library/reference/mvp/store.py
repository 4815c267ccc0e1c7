# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Tools, members and reservations in PostgreSQL. Run as a program it creates the schema."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]

_RESERVATION = """
    SELECT r.*, t.name AS tool, t.icon, m.name AS member
    FROM reservations r JOIN tools t ON t.id = r.tool_id JOIN members m ON m.id = r.member_id
"""


class AlreadyReserved(Exception):
    """At least one of the days is taken."""


def connect() -> psycopg.Connection[Row]:
    return psycopg.connect(os.environ["POSTGRES_DATABASE_URL"], row_factory=dict_row)


def secret() -> str:
    """The key that signs session cookies: the same after a restart."""
    with connect() as db:
        row = db.execute("SELECT value FROM settings WHERE key = 'secret'").fetchone()
    assert row is not None
    return str(row["value"])


def tools(today: date) -> list[Row]:
    """The catalogue; `out_until` is the last day of the reservation that covers today."""
    with connect() as db:
        return db.execute(
            "SELECT t.*, max(r.last_day) AS out_until FROM tools t"
            " LEFT JOIN reservations r ON r.tool_id = t.id AND NOT r.returned"
            " AND %s BETWEEN r.first_day AND r.last_day"
            " GROUP BY t.id ORDER BY t.name",
            (today,),
        ).fetchall()


def tool(tool_id: int) -> Row | None:
    with connect() as db:
        return db.execute("SELECT * FROM tools WHERE id = %s", (tool_id,)).fetchone()


def reservations_between(tool_id: int, first: date, last: date) -> list[Row]:
    """Reservations that take at least one of the days."""
    with connect() as db:
        return db.execute(
            "SELECT * FROM reservations WHERE tool_id = %s AND NOT returned"
            " AND first_day <= %s AND last_day >= %s",
            (tool_id, last, first),
        ).fetchall()


def sign_in(name: str) -> Row:
    """The member of that name, whatever its case; a new one if there is none."""
    with connect() as db:
        db.execute("INSERT INTO members (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
        row = db.execute(
            "SELECT * FROM members WHERE lower(name) = lower(%s)", (name,)
        ).fetchone()
    assert row is not None
    return row


def reserve(tool_id: int, member_id: int, first: date, last: date) -> None:
    """Reserve all the days or none of them."""
    with connect() as db:
        # The tool's row is the lock: two members cannot check the same days at the same time.
        db.execute("SELECT id FROM tools WHERE id = %s FOR UPDATE", (tool_id,))
        taken = db.execute(
            "SELECT id FROM reservations WHERE tool_id = %s AND NOT returned"
            " AND first_day <= %s AND last_day >= %s",
            (tool_id, last, first),
        ).fetchone()
        if taken:
            raise AlreadyReserved
        db.execute(
            "INSERT INTO reservations (tool_id, member_id, first_day, last_day)"
            " VALUES (%s, %s, %s, %s)",
            (tool_id, member_id, first, last),
        )


def reservations_of(member_id: int) -> list[Row]:
    with connect() as db:
        return db.execute(
            _RESERVATION + " WHERE r.member_id = %s ORDER BY r.first_day, t.name", (member_id,)
        ).fetchall()


def cancel(reservation_id: int, member_id: int, today: date) -> None:
    """Remove a reservation that has not begun; somebody else's stays."""
    with connect() as db:
        db.execute(
            "DELETE FROM reservations WHERE id = %s AND member_id = %s AND first_day > %s",
            (reservation_id, member_id, today),
        )


def give_back(reservation_id: int, member_id: int, today: date) -> None:
    """Mark a tool that is out as returned: its remaining days are free again."""
    with connect() as db:
        db.execute(
            "UPDATE reservations SET returned = true"
            " WHERE id = %s AND member_id = %s AND %s BETWEEN first_day AND last_day",
            (reservation_id, member_id, today),
        )


if __name__ == "__main__":
    with connect() as database:
        database.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
