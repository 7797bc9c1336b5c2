"""The object `metadata` of AG-UI's events, which may have any key: it carries the standard's ids and fields.

Source: ag-ui-protocol 1.0.0, `BaseEvent.metadata`. Clients remove unknown fields of the event itself, with a
warning each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from streamweir.codec.coerce import leftover, meta_of, milliseconds, object_in
from streamweir.events import META_IDS, Event, Meta

__all__ = ["BASE", "CHUNK", "is_chunk", "metadata_of", "read_metadata", "with_metadata"]

BASE: Final = frozenset({"type", "timestamp", "rawEvent", "metadata", "subagentRunId"})
"""The fields that every event may have; `rawEvent` is the server's event that the event was made from."""


CHUNK: Final[Mapping[str, Any]] = MappingProxyType({"chunk": True})
"""The private fields of a text that arrived in chunks. Such a text has no end; the client ends it."""


def is_chunk(event: Event) -> bool:
    """Return whether the text arrived in chunks."""
    return bool(event.meta) and (event.meta or {}).get("private") == CHUNK


def with_metadata(message: dict[str, Any], event: Event, **words: Any) -> dict[str, Any]:
    """Return `message` with the metadata of `event`, and with each value of `words` that is not None."""
    metadata = {name: word for name, word in words.items() if word is not None}
    for name in event.meta or ():
        if name in META_IDS or name == "duration_ms":
            metadata[name] = (event.meta or {}).get(name)
    return {**message, "metadata": metadata} if metadata else message


def metadata_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an event, or an empty object."""
    return object_in(message, "metadata")


def read_metadata(message: Mapping[str, Any], known: frozenset[str], *words: str, **ids: Any) -> Meta | None:
    """Return the metadata of an event, with the fields that are not in `known`.

    Args:
        message: the event.
        known: the fields of the event that a rule reads.
        words: the fields of the event's metadata that a rule reads.
        ids: the ids from the event's fields; ids in its metadata have priority.
    """
    given = metadata_of(message)
    own: dict[str, Any] = {name: given[name] for name in META_IDS if name in given}
    beside = leftover(given, (*META_IDS, "duration_ms", *words))
    rest = leftover(message, known) or {}
    if beside:
        rest["metadata"] = beside
    all_ids: dict[str, Any] = {"node_id": message.get("subagentRunId"), **ids, **own}
    return meta_of(**all_ids, duration_ms=milliseconds(given.get("duration_ms")), extra=rest)
