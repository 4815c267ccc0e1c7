# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tool library's web server."""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta

from flask import Flask, abort, flash, redirect, render_template, request, session
from werkzeug.wrappers import Response

import store

MAX_DAYS = 7
MAX_AHEAD = 60
SHOWN_DAYS = 14

app = Flask(__name__)
app.secret_key = store.secret()


class Refused(Exception):
    """What the member asked for cannot be had; the text says why."""


def today() -> date:
    return datetime.now(UTC).date()


def signed_in() -> int:
    """The member's id, or 401."""
    member_id = session.get("member_id")
    if member_id is None:
        abort(401)
    return int(member_id)


def safe_next(path: str | None) -> str:
    """Where to go after signing in: a page of ours only."""
    return path if path and re.fullmatch(r"/(tools/[0-9]{1,9}|reservations)?", path) else "/"


def requested_days(form: dict[str, str]) -> tuple[date, date]:
    """First and last day of what the form asks for."""
    try:
        first = date.fromisoformat(form.get("first_day", ""))
    except ValueError:
        raise Refused("Choose the day of pick-up.") from None
    days = form.get("days", "").strip()
    if not re.fullmatch(r"[0-9]{1,4}", days) or not 1 <= int(days) <= MAX_DAYS:
        raise Refused(f"A tool can be reserved for 1 to {MAX_DAYS} days.")
    if first < today():
        raise Refused("The day of pick-up is in the past.")
    if first > today() + timedelta(days=MAX_AHEAD):
        raise Refused(f"Tools can be reserved at most {MAX_AHEAD} days ahead.")
    return first, first + timedelta(days=int(days) - 1)


def calendar(tool_id: int) -> list[tuple[date, str]]:
    """The next days with what each of them is for the visitor."""
    days = [today() + timedelta(days=offset) for offset in range(SHOWN_DAYS)]
    taken = store.reservations_between(tool_id, days[0], days[-1])

    def status(day: date) -> str:
        for reservation in taken:
            if reservation["first_day"] <= day <= reservation["last_day"]:
                mine = reservation["member_id"] == session.get("member_id")
                return "Yours" if mine else "Reserved"
        return "Free"

    return [(day, status(day)) for day in days]


def tool_page(tool_id: int, error: str = "") -> str:
    tool = store.tool(tool_id) or abort(404)
    return render_template("tool.html", tool=tool, calendar=calendar(tool_id), error=error)


@app.get("/")
def tools() -> str:
    return render_template("tools.html", tools=store.tools(today()))


@app.get("/tools/<int:tool_id>")
def show_tool(tool_id: int) -> str:
    return tool_page(tool_id)


@app.post("/tools/<int:tool_id>/reservations")
def reserve(tool_id: int) -> Response | str:
    member_id = signed_in()
    try:
        first, last = requested_days(request.form.to_dict())
        store.reserve(tool_id, member_id, first, last)
    except Refused as refusal:
        return tool_page(tool_id, str(refusal))
    except store.AlreadyReserved:
        return tool_page(tool_id, "The tool is already reserved on one of these days.")
    flash(f"Reserved from {first} to {last}.")
    return redirect(f"/tools/{tool_id}", 303)


@app.get("/sign-in")
def sign_in_page() -> str:
    return render_template("sign_in.html", next=safe_next(request.args.get("next")), error="")


@app.post("/sign-in")
def sign_in() -> Response | str:
    name = " ".join(request.form.get("name", "").split())
    after = safe_next(request.form.get("next"))
    if not 1 <= len(name) <= 40:
        return render_template("sign_in.html", next=after, error="Enter a name of 1 to 40 letters.")
    member = store.sign_in(name)
    session["member_id"] = member["id"]
    session["member"] = member["name"]
    return redirect(after, 303)


@app.post("/sign-out")
def sign_out() -> Response:
    session.clear()
    return redirect("/", 303)


@app.get("/reservations")
def reservations() -> Response | str:
    if "member_id" not in session:
        return redirect("/sign-in?next=/reservations", 303)
    now: list[store.Row] = []
    upcoming: list[store.Row] = []
    past: list[store.Row] = []
    for reservation in store.reservations_of(signed_in()):
        if reservation["returned"] or reservation["last_day"] < today():
            past.append(reservation)
        elif reservation["first_day"] > today():
            upcoming.append(reservation)
        else:
            now.append(reservation)
    return render_template("reservations.html", now=now, upcoming=upcoming, past=past)


@app.post("/reservations/<int:reservation_id>/cancel")
def cancel(reservation_id: int) -> Response:
    store.cancel(reservation_id, signed_in(), today())
    return redirect("/reservations", 303)


@app.post("/reservations/<int:reservation_id>/return")
def give_back(reservation_id: int) -> Response:
    store.give_back(reservation_id, signed_in(), today())
    return redirect("/reservations", 303)


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=int(os.environ.get("APPLICATION_PORT", "8000")), threaded=True)
