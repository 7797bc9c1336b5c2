"""Writes the field that reports that a run waits for a person, for protocols without such a field.

    {"object": "chat.completion.chunk", ..., "streamweir": {"status": "suspended", "interactions": [...]}}

The clients of these protocols ignore unknown fields. A person reads the question as a part of the answer. A
program finds in this field the values that it needs for an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.standard_events import read_standard
from streamweir.events import Event, Interaction, wire_data

__all__ = ["SUSPENSION", "asked_in", "is_suspended", "suspension"]

SUSPENSION: Final = "streamweir"
"""The name of the field, which is in the last message."""


def suspension(asked: Iterable[Interaction]) -> dict[str, Any]:
    """Return an object with the field that reports that a run waits for the answers to `asked`."""
    return {SUSPENSION: {"status": "suspended", "interactions": [*map(wire_data, asked)]}}


def is_suspended(message: Mapping[str, Any]) -> bool:
    """Return whether `message` reports that the run waits for an answer."""
    match message.get(SUSPENSION):
        case {"status": "suspended"}:
            return True
    return False


def asked_in(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the questions in the field `SUSPENSION` of a message; nothing without the field."""
    match message.get(SUSPENSION):
        case {"interactions": list(asked)}:
            for data in asked:
                if isinstance(data, dict):
                    yield read_standard({"type": "interaction", "data": data, "metadata": {}})
