# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Cassettes: recorded answers of a real model, to be replayed.

An entry is found by the hash of what was asked (model, messages, tools). Conversations hold things
that differ between runs (times, element refs), so where no hash fits, the next unused entry of the
same shape is taken: same model, same roles, same calls. Anything else is a miss. No header, key or
picture is ever stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from vibench_gym.core.errors import CassetteMiss, Problem, TaskInvalid
from vibench_gym.core.tool import ToolCall
from vibench_gym.llm.base import Completion, Message, Usage
from vibench_gym.llm.wire import clean, read_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_CASSETTE_BYTES = 256 * 1024 * 1024


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoredCall(_Stored):
    """A tool call as the model wrote it."""

    id: str
    name: str
    arguments: str


class StoredMessage(_Stored):
    """One turn of a request, pictures as their number."""

    role: str
    text: str = ""
    calls: tuple[StoredCall, ...] = ()
    call_id: str | None = None


class Entry(_Stored):
    """One request and its answer."""

    key: str
    shape: str
    model: str
    messages: tuple[StoredMessage, ...]
    tools: tuple[str, ...]
    text: str
    calls: tuple[StoredCall, ...]
    finish_reason: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class _File(_Stored):
    version: int = 1
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a model was asked, whatever API it came through."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    """Name, description and parameters of each."""

    def key(self) -> str:
        """Hash of everything asked."""
        return _digest(
            {
                "model": self.model,
                "messages": [_stored(message).model_dump() for message in self.messages],
                "tools": list(self.tools),
            }
        )

    def shape(self) -> str:
        """Hash of model, roles and names of calls: two runs of one conversation share it."""
        turns = [[m.role, [call.name for call in m.tool_calls]] for m in self.messages]
        return _digest([self.model, turns])


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _stored(message: Message) -> StoredMessage:
    return StoredMessage(
        role=message.role,
        text=clean(message.text),
        calls=tuple(map(_stored_call, message.tool_calls)),
        call_id=None if message.tool_call_id is None else clean(message.tool_call_id),
    )


def _stored_call(call: ToolCall) -> StoredCall:
    if call.arguments is None:
        arguments = call.raw_arguments
    else:
        arguments = json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False)
    return StoredCall(id=clean(call.id), name=clean(call.name), arguments=clean(arguments))


@dataclass
class Cassette:
    """Entries in the order in which they were recorded."""

    entries: list[Entry] = field(default_factory=list)
    source: str = "<cassette>"
    _used: set[int] = field(default_factory=set, repr=False)

    @classmethod
    def load(cls, path: Path) -> Cassette:
        """Read a cassette.

        Raises:
            TaskInvalid: it cannot be read or is none.
        """
        try:
            if path.stat().st_size > MAX_CASSETTE_BYTES:
                raise TaskInvalid([Problem(str(path), 1, "the cassette is too large")])
            stored = _File.model_validate_json(path.read_bytes())
        except OSError as error:
            raise TaskInvalid([Problem(str(path), 1, f"cannot read: {error}")]) from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            message = f"no cassette: {where}: {first['msg']}"
            raise TaskInvalid([Problem(str(path), 1, message)]) from error
        if stored.version != 1:
            message = f"version {stored.version} is not known"
            raise TaskInvalid([Problem(str(path), 1, message)])
        return cls(list(stored.entries), str(path))

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _File(entries=tuple(self.entries)).model_dump_json(indent=1, exclude_defaults=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as file:
            try:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def add(
        self,
        request: Request,
        completion: Completion,
        *,
        scrub: Callable[[str], str] = str,
    ) -> None:
        """Record one answer; `scrub` takes secrets out of everything that was said."""
        entry = Entry(
            key=request.key(),
            shape=request.shape(),
            model=request.model,
            messages=tuple(map(_stored, request.messages)),
            tools=tuple(str(tool.get("name", "")) for tool in request.tools),
            text=clean(completion.message.text),
            calls=tuple(map(_stored_call, completion.message.tool_calls)),
            finish_reason=completion.finish_reason,
            input_tokens=completion.usage.input_tokens,
            output_tokens=completion.usage.output_tokens,
            cached_tokens=completion.usage.cached_tokens,
        )
        self.entries.append(Entry.model_validate_json(scrub(entry.model_dump_json())))

    def answer(self, request: Request) -> Completion:
        """What was answered to this request, or to the one in its place.

        A request that was recorded once may be asked again (a retry) and gets the same answer.

        Raises:
            CassetteMiss: no entry fits.
        """
        index = self._choose(request)
        if index is None:
            turns = len(request.messages)
            raise CassetteMiss(
                f"{self.source}: nothing recorded for {request.model!r} with {turns} messages like "
                f"these; {len(self.entries) - len(self._used)} of {len(self.entries)} unused"
            )
        self._used.add(index)
        return _completion(self.entries[index])

    def _choose(self, request: Request) -> int | None:
        key = request.key()
        exact = [index for index, entry in enumerate(self.entries) if entry.key == key]
        unused = [index for index in exact if index not in self._used]
        if exact:
            return unused[0] if unused else exact[-1]
        shape = request.shape()
        for index, entry in enumerate(self.entries):
            if index not in self._used and entry.shape == shape:
                return index
        return None

    def unused(self) -> Sequence[Entry]:
        """Entries that were never given as an answer."""
        return [entry for index, entry in enumerate(self.entries) if index not in self._used]

    def assert_all_used(self) -> None:
        """Fail where a replay needed less than was recorded: it did not do the same.

        Raises:
            AssertionError: entries are left.
        """
        if left := self.unused():
            raise AssertionError(f"{self.source}: {len(left)} entries were not used")


def _completion(entry: Entry) -> Completion:

    calls = tuple(
        ToolCall(call.id, call.name, read_arguments(call.arguments), call.arguments)
        for call in entry.calls
    )
    return Completion(
        Message("assistant", entry.text, tool_calls=calls),
        entry.finish_reason,
        Usage(entry.input_tokens, entry.output_tokens, entry.cached_tokens),
        needs_history=True,
    )
