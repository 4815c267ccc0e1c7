# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The tools' parameters: what a model is offered and what its calls are held to.

One pydantic model per tool; its JSON schema is the tool's schema, its docstring the tool's
description. Nothing reaches the browser that did not pass through `parse_arguments`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from vibench_gym.core.tool import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

Ref = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^(f\d{1,6})?e\d{1,7}$", max_length=16),
    Field(description="reference of an element in the last snapshot, for example e12"),
]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"),
]
Text = Annotated[str, StringConstraints(max_length=100_000)]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4096)]
Pixels = Annotated[float, Field(ge=0, le=20_000, allow_inf_nan=False)]
Distance = Annotated[float, Field(ge=-20_000, le=20_000, allow_inf_nan=False)]
Button = Literal["left", "right", "middle"]
Modifier = Literal["Alt", "Control", "Meta", "Shift"]


class Arguments(BaseModel):
    """Base of all tools' parameters: unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tool: ClassVar[str]


class OnElement(Arguments):
    """An action on one element of the last snapshot."""

    ref: Ref
    element: str | None = Field(
        default=None, max_length=400, description="the element in your own words, for the record"
    )


class Open(Arguments):
    """Open an address of the app in the current tab."""

    tool = "open"
    url: Url = Field(description="a path such as /items, or a whole address of the app")


class Click(OnElement):
    """Click an element."""

    tool = "click"
    button: Button = "left"
    double: bool = False
    modifiers: tuple[Modifier, ...] = Field(default=(), max_length=4)


class Fill(OnElement):
    """Put text into a field at once, replacing what it held."""

    tool = "fill"
    text: Text


class Type(Arguments):
    """Type text with real key strokes, into an element or wherever the focus is."""

    tool = "type"
    text: Annotated[str, StringConstraints(max_length=5_000)]
    ref: Ref | None = None
    element: str | None = Field(default=None, max_length=400)
    submit: bool = Field(default=False, description="press Enter afterwards")


class Press(Arguments):
    """Press one key or chord, for example Enter, Escape, ArrowDown, Control+a."""

    tool = "press"
    key: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    ref: Ref | None = None
    element: str | None = Field(default=None, max_length=400)


class Select(OnElement):
    """Choose options of a select box by label or value."""

    tool = "select"
    values: tuple[Annotated[str, StringConstraints(max_length=1000)], ...] = Field(
        min_length=1, max_length=50
    )


class Check(OnElement):
    """Tick or untick a check box, radio button or switch."""

    tool = "check"
    checked: bool = True


class Hover(OnElement):
    """Move the mouse over an element."""

    tool = "hover"


class Drag(OnElement):
    """Drag an element with the mouse and drop it on another."""

    tool = "drag"
    target_ref: Ref


class MouseAction(BaseModel):
    """One move of the mouse; x and y are pixels from the top left of the viewport."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["move", "down", "up", "click", "double_click", "wheel"]
    x: Pixels | None = None
    y: Pixels | None = None
    dx: Distance = 0
    dy: Distance = 0
    button: Button = "left"


class Mouse(Arguments):
    """Use the mouse by coordinates, as on a canvas: a list of actions carried out in order."""

    tool = "mouse"
    actions: tuple[MouseAction, ...] = Field(min_length=1, max_length=200)


class Upload(OnElement):
    """Give staged test assets to a file input, or to the button that opens the file dialog."""

    tool = "upload"
    files: tuple[Annotated[str, StringConstraints(max_length=255)], ...] = Field(
        max_length=20, description="names of staged test assets; an empty list clears the input"
    )


class Download(OnElement):
    """Click an element and keep the file that the app offers; tells its name, size and content."""

    tool = "download"


class Dialog(Arguments):
    """Say how the next dialog (alert, confirm, prompt, leave page) is answered; default accept."""

    tool = "dialog"
    accept: bool
    text: str | None = Field(default=None, max_length=4000, description="answer to a prompt")


class WaitFor(Arguments):
    """Wait until text appears, until text is gone, or for some seconds."""

    tool = "wait_for"
    text: str | None = Field(default=None, min_length=1, max_length=1000)
    gone: str | None = Field(default=None, min_length=1, max_length=1000)
    seconds: float | None = Field(default=None, ge=0, le=600, allow_inf_nan=False)
    timeout_s: float | None = Field(default=None, gt=0, le=600, allow_inf_nan=False)


class Back(Arguments):
    """Go back in the history of the current tab."""

    tool = "back"


class Forward(Arguments):
    """Go forward in the history of the current tab."""

    tool = "forward"


class Reload(Arguments):
    """Reload the current tab."""

    tool = "reload"


class NewTab(Arguments):
    """Open another tab in the current context and switch to it."""

    tool = "new_tab"
    name: Name | None = None
    url: Url | None = None


class NewContext(Arguments):
    """Open a context of its own (another visitor: no shared cookies or storage), switch to it."""

    tool = "new_context"
    name: Name
    url: Url | None = None


class Switch(Arguments):
    """Go to another context or tab."""

    tool = "switch"
    context: Name | None = None
    tab: Name | None = None


class CloseTab(Arguments):
    """Close a tab, the current one by default."""

    tool = "close_tab"
    tab: Name | None = None


class Geolocation(Arguments):
    """Set where this context is, or refuse it the position."""

    tool = "geolocation"
    latitude: float | None = Field(default=None, ge=-90, le=90, allow_inf_nan=False)
    longitude: float | None = Field(default=None, ge=-180, le=180, allow_inf_nan=False)
    denied: bool = False


class Offline(Arguments):
    """Take this context's network away or give it back."""

    tool = "offline"
    offline: bool


class Clipboard(Arguments):
    """Read the clipboard or put text into it."""

    tool = "clipboard"
    action: Literal["read", "write"]
    text: Text | None = None


class Viewport(Arguments):
    """Resize the current tab's page."""

    tool = "viewport"
    width: int = Field(ge=200, le=4000)
    height: int = Field(ge=200, le=4000)


class Screenshot(Arguments):
    """Look at the page as a picture."""

    tool = "screenshot"
    full_page: bool = False


class Read(OnElement):
    """Read one element: text, value, attributes, state, position."""

    tool = "read"


class Snapshot(Arguments):
    """Look at the page again without doing anything."""

    tool = "snapshot"
    ref: Ref | None = Field(default=None, description="only this element, where the page is long")


TOOLS: tuple[type[Arguments], ...] = (
    Open,
    Click,
    Fill,
    Type,
    Press,
    Select,
    Check,
    Hover,
    Drag,
    Mouse,
    Upload,
    Download,
    Dialog,
    WaitFor,
    Back,
    Forward,
    Reload,
    NewTab,
    NewContext,
    Switch,
    CloseTab,
    Geolocation,
    Offline,
    Clipboard,
    Viewport,
    Screenshot,
    Read,
    Snapshot,
)
BY_NAME = {model.tool: model for model in TOOLS}


class BadArguments(ValueError):
    """A call that no tool can carry out; the message says what was expected."""


def _spec(model: type[Arguments]) -> ToolSpec:
    schema = model.model_json_schema()
    for noise in ("title", "description"):
        schema.pop(noise, None)
    for part in schema.get("properties", {}).values():
        part.pop("title", None)
    description = inspect.cleandoc(model.__doc__ or "")
    return ToolSpec(name=model.tool, description=description, parameters=schema)


TOOL_SPECS: tuple[ToolSpec, ...] = tuple(_spec(model) for model in TOOLS)


def _signature(model: type[Arguments]) -> str:
    parts = [
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    ]
    return f"{model.tool}{{{', '.join(parts)}}}"


def parse_arguments(name: str, arguments: Mapping[str, Any] | None) -> Arguments:
    """Check a call.

    Raises:
        BadArguments: no such tool, or arguments that it does not take.
    """
    model = BY_NAME.get(name)
    if model is None:
        raise BadArguments(f"no tool is called {name[:60]!r}; there are: {', '.join(BY_NAME)}")
    try:
        return model.model_validate(dict(arguments or {}))
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"[:200]
            for fault in error.errors(include_url=False, include_input=False)[:5]
        ]
        raise BadArguments(f"{_signature(model)} expected. {'; '.join(faults)}") from None
