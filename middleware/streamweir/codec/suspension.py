"""The field that says that a run waits for a person, for protocols that have no such field.

    {"object": "chat.completion.chunk", ..., "streamweir": {"status": "suspended", "interactions": [...]}}

The clients of these protocols skip fields that they do not know; a person reads the question as a part of the
answer, and a program finds here what it needs to answer it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.standard_events import read_standard
from streamweir.events import Event, Interaction, wire_data

__all__ = ["SUSPENSION", "asked_in", "is_suspended", "suspension"]

SUSPENSION: Final = "streamweir"
"""The field of a last message."""


def suspension(asked: Iterable[Interaction]) -> dict[str, Any]:
    """Return the field, with its name, that says that a run waits for the answers to `asked`."""
    return {SUSPENSION: {"status": "suspended", "interactions": [*map(wire_data, asked)]}}


def is_suspended(message: Mapping[str, Any]) -> bool:
    """Whether `message` reports that the run waits for an answer."""
    match message.get(SUSPENSION):
        case {"status": "suspended"}:
            return True
    return False


def asked_in(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the questions of a message with that field; nothing if it has no such field."""
    match message.get(SUSPENSION):
        case {"interactions": list(asked)}:
            for data in asked:
                if isinstance(data, dict):
                    yield read_standard({"type": "interaction", "data": data, "metadata": {}})
