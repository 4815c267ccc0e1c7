# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Whether methods that override a framework's still fit it, as `inspect` sees them.

NeMo Gym calls our methods and reads their annotations (FastAPI's routes). A version of it that
renames a parameter, drops a hook or makes one a coroutine would break us at run time only.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def overrides(server: type, framework: str) -> dict[str, type]:
    """Methods that classes outside of a framework override in it: name -> the class they are of."""
    theirs = [cls for cls in server.__mro__ if cls.__module__.split(".")[0] == framework]
    ours = [cls for cls in server.__mro__ if cls not in theirs]
    return {
        name: base
        for cls in ours
        for name, value in vars(cls).items()
        if inspect.isfunction(value) and not name.startswith("__")
        for base in _definers(theirs, name, framework)
    }


def misfits(override: Callable[..., Any], base: Callable[..., Any]) -> list[str]:
    """What is wrong with an override, in words; nothing where it fits."""
    found = []
    if inspect.iscoroutinefunction(override) != inspect.iscoroutinefunction(base):
        found.append("one is a coroutine, the other is not")
    ours, theirs = _signature(override), _signature(base)
    found += _parameters(ours, theirs)
    if not _narrows(ours.return_annotation, theirs.return_annotation):
        found.append(f"returns {ours.return_annotation}, not {theirs.return_annotation}")
    return found


def _definers(classes: list[type], name: str, framework: str) -> list[type]:
    """The class that has the last word on a method, unless pydantic wrote it."""
    found = [cls for cls in classes if name in vars(cls)][:1]
    return [cls for cls in found if vars(cls)[name].__module__.split(".")[0] == framework]


def _parameters(ours: inspect.Signature, theirs: inspect.Signature) -> Iterator[str]:
    for name, base in theirs.parameters.items():
        own = ours.parameters.get(name)
        if own is None:
            yield f"parameter {name!r} is not taken"
        elif own.kind is not base.kind:
            yield f"parameter {name!r} is {own.kind.description}, not {base.kind.description}"
        elif (own.default is own.empty) and (base.default is not base.empty):
            yield f"parameter {name!r} lost its default"
        elif not _narrows(own.annotation, base.annotation):
            yield f"parameter {name!r} is {own.annotation}, not {base.annotation}"
    for name, own in ours.parameters.items():
        # FastAPI hands the request to whoever asks for it.
        if name not in theirs.parameters and own.default is own.empty and name != "request":
            yield f"parameter {name!r} is not given"


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _narrows(ours: Any, theirs: Any) -> bool:
    """Whether an annotation is the base's or a more special one."""
    if theirs in (inspect.Parameter.empty, Any) or ours == theirs:
        return True
    if typing.get_origin(theirs) in (typing.Union, types.UnionType):
        return any(_narrows(ours, member) for member in typing.get_args(theirs))
    if typing.get_origin(ours) is not None and typing.get_origin(theirs) is not None:
        return typing.get_origin(ours) is typing.get_origin(theirs)
    return isinstance(ours, type) and isinstance(theirs, type) and issubclass(ours, theirs)
