"""Reads the fields of one message in any form, and keeps the state of the stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, meta_of, same_as, text_of
from streamweir.dialects.stream_envelope.shared_vocabulary import TRACE
from streamweir.events import Meta, SessionEnd
from streamweir.ids import RecentIds, short_id

__all__ = ["Message", "Run"]

"""The envelope's fields for tracing, which are kept in `extra`."""

_ENVELOPE: Final = frozenset({"type", "thread_id", "run_id", "node_name", "timestamp", *TRACE})
_NO_NODE: Final = ("", "system", "unknown")
"""Names that mean that there is no node: of the server, and of the first pages that read the old form."""
_ROOM: Final = 512 << 10
"""The most bytes for the ids of the runs that have streamed text."""
_SECONDS_BELOW: Final = 1e11
_LATEST: Final = 1 << 50
_USAGE: Final = ("usage_metadata", "usage")
_TOKENS: Final = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
    "total_tokens": ("total_tokens",),
}


class Message:
    """A message: its kind, its fields and its envelope.

    Attributes:
        kind: the type; inferred if it is missing, empty if it cannot be inferred.
        fields: the fields in `data`, or at the top level in the flat forms; `data` has priority.
        top: the whole message.
    """

    __slots__ = ("fields", "kind", "top")

    def __init__(self, top: Mapping[str, Any]) -> None:
        self.top = top
        data = top.get("data")
        flat = {key: value for key, value in top.items() if key not in _ENVELOPE and value is not None}
        if isinstance(data, dict):
            del flat["data"]
            flat.update(data)
        self.fields: dict[str, Any] = flat
        self.kind = text_of(top.get("type")) or self._inferred()

    def _inferred(self) -> str:
        if any(isinstance(self.fields.get(name), str) for name in ("delta", "content")):
            return "content"
        if isinstance(self.fields.get("error"), str | dict):
            return "error"
        return "thread_id" if not self.fields and self.thread_id else ""

    @property
    def run_id(self) -> str:
        """The id of the message's run; empty if there is none."""
        return text_of(self.top.get("run_id"))

    @property
    def thread_id(self) -> str:
        """The id of the conversation; empty if there is none."""
        return text_of(self.top.get("thread_id")) or text_of(self.fields.get("thread_id"))

    @property
    def node_name(self) -> str:
        """The name of the active node; empty if there is none."""
        for name in (text_of(self.top.get("node_name")), text_of(self.fields.get("node_name"))):
            if name not in _NO_NODE:
                return name
        return ""

    def first(self, *names: str) -> Any:
        """Return the first value of the fields `names` that is not empty."""
        return next((self.fields[name] for name in names if self.fields.get(name) not in (None, "")), None)

    def text(self, *names: str) -> str:
        """Return the first value of the fields `names` that is not empty, as text."""
        return text_of(self.first(*names))

    def meta(self, *known: str | tuple[str, ...], **ids: Any) -> Meta | None:
        """Return the metadata: ids, and as `extra` all fields that are not `known`.

        If a tuple names one field in several ways, only the name that is read counts as known.
        """
        traces = {name: self.top[name] for name in TRACE if self.top.get(name)}
        thread_id, node_name = self.thread_id, self.node_name
        rest = None
        if not self._is_read_whole(known):
            rest = leftover(self.fields, self._read(known, thread_id, node_name))
        fields = {
            "thread_id": thread_id,
            "run_id": self.run_id,
            "node_name": node_name,
            "upstream_time": _milliseconds(self.top.get("timestamp")),
            "extra": {**rest, **traces} if rest else traces,
        }
        return meta_of(**{**fields, **ids})

    def _is_read_whole(self, known: Iterable[str | tuple[str, ...]]) -> bool:
        """Return whether a message has only one field, as a piece of text has, and this field is `known`."""
        if len(self.fields) != 1:
            return False
        (name,) = self.fields
        return any(name == item if isinstance(item, str) else name in item for item in known)

    def _read(self, known: Iterable[str | tuple[str, ...]], thread_id: str, node_name: str) -> set[str]:
        """Return the names of the fields whose values are part of the event."""
        names: set[str] = set()
        for item in known:
            if isinstance(item, str):
                names.add(item)
            elif len(present := [name for name in item if name in self.fields]) > 1:
                names |= same_as(self.first(*item), self.fields, item)
            else:
                names.update(present)
        if "thread_id" in self.fields:
            names |= same_as(thread_id, self.fields, ("thread_id",))
        if "node_name" in self.fields and self.fields["node_name"] in (*_NO_NODE, node_name):
            names.add("node_name")
        return names

    def ids(self) -> Meta | None:
        """Return the ids as metadata, for events that have all other fields in their data."""
        return self.meta(*self.fields)


def _milliseconds(timestamp: Any) -> int | None:
    """Return the time of a message in Unix milliseconds; servers of the old form send seconds."""
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float) or not 0 < timestamp < _LATEST:
        return None
    return round(timestamp if timestamp >= _SECONDS_BELOW else timestamp * 1000)


class Run:
    """The state of one stream's decoder."""

    def __init__(self) -> None:
        self._streamed: RecentIds[None] = RecentIds(_ROOM)
        self.copilot_calls: list[str] = []
        self.code_is_open = False
        self._thoughts = 0
        self.usage: Counter[str] = Counter()

    def note_text(self, run_id: str) -> None:
        """Note that text of this run was streamed; if there are too many runs, the oldest is forgotten."""
        self._streamed.add(short_id(run_id), None)

    def next_thought(self) -> str:
        """Return a new id for a thought that arrives whole, because it is a separate message."""
        self._thoughts += 1
        return f"thought_{self._thoughts}"

    def is_silent(self, run_id: str) -> bool:
        """Return whether no text of this run was streamed; text without a run id may be of any run."""
        return short_id(run_id) not in self._streamed and "" not in self._streamed

    def add_usage(self, fields: Mapping[str, Any]) -> None:
        """Add the tokens that one run of a model reports."""
        self.usage.update(_tokens(fields))

    def end(self, message: Message, status: Any = "completed") -> SessionEnd:
        """Return the end of the stream, with the usage of all model runs or the usage in `message`."""
        summary: dict[str, Any] = {**self.usage, **_tokens(message.fields)}
        known = [name for name in _USAGE if isinstance(message.fields.get(name), dict)]
        known += ["stopped", "done", *_ALL_TOKENS]
        if isinstance(finish := message.fields.get("finish_reason"), str) and finish:
            summary["finish_reason"] = finish
            known.append("finish_reason")
        return SessionEnd(status, summary=summary or None, meta=message.meta(*known))

    def end_with(self, meta: Meta | None, status: Any = "completed") -> SessionEnd:
        """Return the end of the stream with the metadata of an event."""
        return SessionEnd(status, summary=dict(self.usage) or None, meta=meta)


_ALL_TOKENS: Final = frozenset(name for names in _TOKENS.values() for name in names)


def _tokens(fields: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of tokens in `fields` or in their usage object; 0 means unknown."""
    places = [fields, *(fields.get(name) for name in _USAGE)]
    found = {key: _count(places, names) for key, names in _TOKENS.items()}
    return {key: number for key, number in found.items() if number}


def _count(places: Iterable[Any], names: Iterable[str]) -> int:
    for place in places:
        for name in names:
            number = place.get(name) if isinstance(place, dict) else None
            if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 1 << 53:
                return number
    return 0
