# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The herbarium's web server."""

from __future__ import annotations

import csv
import io
import os
from datetime import UTC, date, datetime
from pathlib import PurePath

from flask import Flask, Response, abort, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

import images
import store

MAX_PHOTO_BYTES = 2 * 1024 * 1024

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 4 * MAX_PHOTO_BYTES


class Refused(Exception):
    """What the user entered cannot be taken; the text says why."""


def today() -> date:
    return datetime.now(UTC).date()


def description() -> store.Description:
    """What the form in the request says of a specimen."""
    name = " ".join(request.form.get("name", "").split())
    if not 1 <= len(name) <= 80:
        raise Refused("Enter a name of 1 to 80 characters.")
    text = request.form.get("found_on", "")
    try:
        found_on = date.fromisoformat(text) if text else None
    except ValueError:
        raise Refused("Found on must be a date.") from None
    if found_on and found_on > today():
        raise Refused("Found on must not be in the future.")
    place = " ".join(request.form.get("place", "").split())
    return store.Description(name, place[:80], found_on, request.form.get("notes", "").strip()[:2000])


def uploaded_photo() -> tuple[str, images.ImageInfo, bytes]:
    """Name, kind and bytes of the photo in the request."""
    upload = request.files.get("photo")
    name = PurePath((upload.filename or "").replace("\\", "/")).name if upload else ""
    if upload is None or not name:
        raise Refused("Choose a photo.")
    data = upload.read(MAX_PHOTO_BYTES + 1)
    if len(data) > MAX_PHOTO_BYTES:
        raise Refused("The photo must have at most 2 MB.")
    try:
        return name[:120], images.inspect(data), data
    except images.NotAnImage:
        raise Refused("The photo must be a PNG or JPEG image.") from None


def specimen_or_404(specimen_id: int) -> store.Row:
    return store.get(specimen_id) or abort(404)


def attachment(data: bytes | str, kind: str, name: str) -> Response:
    response = Response(data, mimetype=kind)
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@app.get("/")
def collection() -> str:
    text = request.args.get("search", "").strip()
    return render_template("collection.html", specimens=store.search(text), search=text)


@app.get("/specimens/new")
def new() -> str:
    return render_template("form.html", specimen=None, values={}, error="")


@app.post("/specimens")
def add() -> AnyResponse | str:
    try:
        what = description()
        name, info, data = uploaded_photo()
    except Refused as refusal:
        return render_template("form.html", specimen=None, values=request.form, error=str(refusal))
    specimen_id = store.add(what, name, info.type, (info.width, info.height), data)
    return redirect(f"/specimens/{specimen_id}", 303)


@app.get("/specimens/<int:specimen_id>")
def show(specimen_id: int) -> str:
    return render_template("specimen.html", specimen=specimen_or_404(specimen_id))


@app.get("/specimens/<int:specimen_id>/photo")
def photo(specimen_id: int) -> Response:
    row = store.photo(specimen_id) or abort(404)
    return Response(row["photo"], mimetype=row["photo_type"])


@app.get("/specimens/<int:specimen_id>/original")
def original(specimen_id: int) -> Response:
    row = store.photo(specimen_id) or abort(404)
    return attachment(row["photo"], row["photo_type"], row["photo_name"])


@app.get("/specimens/<int:specimen_id>/edit")
def edit(specimen_id: int) -> str:
    specimen = specimen_or_404(specimen_id)
    return render_template("form.html", specimen=specimen, values=specimen, error="")


@app.post("/specimens/<int:specimen_id>")
def update(specimen_id: int) -> AnyResponse | str:
    specimen = specimen_or_404(specimen_id)
    try:
        store.update(specimen_id, description())
    except Refused as refusal:
        return render_template(
            "form.html", specimen=specimen, values=request.form, error=str(refusal)
        )
    return redirect(f"/specimens/{specimen_id}", 303)


@app.post("/specimens/<int:specimen_id>/favourite")
def favourite(specimen_id: int) -> AnyResponse:
    store.toggle_favourite(specimen_id)
    return redirect(f"/specimens/{specimen_id}", 303)


@app.post("/specimens/<int:specimen_id>/delete")
def delete(specimen_id: int) -> AnyResponse:
    store.delete(specimen_id)
    return redirect("/", 303)


@app.get("/export.csv")
def export() -> Response:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(["name", "place", "found_on", "favourite", "notes"])
    for row in store.by_name():
        starred = "yes" if row["favourite"] else "no"
        writer.writerow([row["name"], row["place"], row["found_on"] or "", starred, row["notes"]])
    return attachment(text.getvalue(), "text/csv", "herbarium.csv")


@app.errorhandler(404)
def not_found(_error: Exception) -> tuple[str, int]:
    return render_template("missing.html"), 404


@app.errorhandler(413)
def too_large(_error: Exception) -> tuple[str, int]:
    error = "The photo must have at most 2 MB."
    return render_template("form.html", specimen=None, values={}, error=error), 413


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=int(os.environ.get("APPLICATION_PORT", "8000")), threaded=True)
