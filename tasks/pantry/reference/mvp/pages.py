# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The pantry's pages as HTML."""

from __future__ import annotations

from datetime import date, timedelta
from html import escape

from store import SHELVES, UNITS, Item

USE_SOON_DAYS = 3


def freshness(best_before: date | None, today: date) -> str:
    """What the status column says about a date."""
    if best_before is None:
        return "No date"
    if best_before < today:
        return "Expired"
    if best_before <= today + timedelta(days=USE_SOON_DAYS):
        return "Use soon"
    return "Fresh"


def layout(title: str, current: str, to_buy: int, body: str) -> str:
    def link(path: str, text: str) -> str:
        here = ' aria-current="page"' if path == current else ""
        return f'<a href="{path}"{here}>{text}</a>'

    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Pantry</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/style.css">
</head>
<body>
<header>
<h1>🥫 Pantry</h1>
<nav aria-label="Main">{link("/", "In stock")}{link("/shopping", f"Shopping list ({to_buy})")}</nav>
</header>
<main>{body}</main>
</body>
</html>
"""


def options(choices: tuple[str, ...], chosen: str) -> str:
    return "".join(
        f"<option{' selected' if choice == chosen else ''}>{choice}</option>" for choice in choices
    )


def add_form(values: dict[str, str], error: str) -> str:
    def value(field: str, default: str = "") -> str:
        return escape(values.get(field, default), quote=True)

    alert = f'<p role="alert">{escape(error)}</p>' if error else ""
    return f"""
<section class="card" aria-labelledby="add-title">
<h2 id="add-title">Add an item</h2>
{alert}
<form method="post" action="/items" class="fields" novalidate>
<label>Name <input name="name" value="{value("name")}" autocomplete="off"></label>
<label>Quantity <input name="quantity" inputmode="numeric" value="{value("quantity", "1")}"></label>
<label>Unit <select name="unit">{options(UNITS, values.get("unit", ""))}</select></label>
<label>Shelf <select name="shelf">{options(SHELVES, values.get("shelf", ""))}</select></label>
<label>Best before <input type="date" name="best_before" value="{value("best_before")}"></label>
<button class="primary">Add item</button>
</form>
</section>"""


def action(path: str, text: str, label: str, *, confirm: str = "", css: str = "") -> str:
    """A form of one button; `label` is what it is called where there is no picture."""
    ask = f' data-confirm="{escape(confirm, quote=True)}"' if confirm else ""
    return (
        f'<form method="post" action="{path}"{ask}>'
        f'<button class="{css}" aria-label="{escape(label, quote=True)}">{text}</button></form>'
    )


def stock_row(item: Item, today: date) -> str:
    name = escape(item.name)
    status = freshness(item.best_before, today)
    day = item.best_before.isoformat() if item.best_before else "–"
    question = f"Delete {item.name} for good?"
    return f"""<tr>
<th scope="row">{name}</th>
<td>{item.quantity} {item.unit}</td>
<td>{item.shelf}</td>
<td>{day}</td>
<td><span class="badge {status.lower().replace(" ", "-")}">{status}</span></td>
<td class="actions">
{action(f"/items/{item.id}/use", "−1", f"Use one {item.name}")}
{action(f"/items/{item.id}/more", "+1", f"Add one {item.name}")}
{action(f"/items/{item.id}/delete", "Delete", f"Delete {item.name}", confirm=question, css="quiet")}
</td>
</tr>"""


def stock_page(
    items: list[Item],
    to_buy: int,
    today: date,
    *,
    search: str = "",
    shelf: str = "",
    values: dict[str, str] | None = None,
    error: str = "",
    notice: str = "",
) -> str:
    if items:
        rows = "".join(stock_row(item, today) for item in items)
        table = (
            '<table aria-label="Items in stock"><thead><tr><th>Item</th><th>Quantity</th>'
            "<th>Shelf</th><th>Best before</th><th>Status</th><th>Actions</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    elif search or shelf:
        table = '<p class="empty">No item matches.</p>'
    else:
        table = '<p class="empty">Your pantry is empty. Add the first item above.</p>'
    said = f'<p role="status">{escape(notice)}</p>' if notice else ""
    body = f"""{add_form(values or {}, error)}
<section class="card" aria-labelledby="stock-title">
<h2 id="stock-title">In stock</h2>
{said}
<form method="get" action="/" class="fields filter" role="search">
<label>Search <input type="search" name="search" value="{escape(search, quote=True)}"></label>
<label>Show shelf <select name="shelf"><option value="">All shelves</option>
{options(SHELVES, shelf)}</select></label>
<button>Apply</button>
</form>
{table}
</section>
<script src="/static/confirm.js"></script>"""
    return layout("In stock", "/", to_buy, body)


def shopping_page(items: list[Item], error: str = "") -> str:
    rows = "".join(
        f"""<li><strong>{escape(item.name)}</strong> <span>{item.shelf}</span>
<form method="post" action="/items/{item.id}/bought" class="inline" novalidate>
<label>Quantity bought <input name="quantity" inputmode="numeric" value="1"></label>
<span>{item.unit}</span>
<button class="primary" aria-label="Bought {escape(item.name, quote=True)}">Bought</button>
</form></li>"""
        for item in items
    )
    alert = f'<p role="alert">{escape(error)}</p>' if error else ""
    listing = (
        f'<ul aria-label="Items to buy" class="shopping">{rows}</ul>'
        if items
        else '<p class="empty">Nothing to buy.</p>'
    )
    body = f"""<section class="card" aria-labelledby="shopping-title">
<h2 id="shopping-title">Shopping list</h2>{alert}{listing}</section>"""
    return layout("Shopping list", "/shopping", len(items), body)
