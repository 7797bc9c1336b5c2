"""The metadata of an event: the ids of its message, run and node, and further fields of the upstream.

Source: the standard agent-event protocol, version 1.1, section 1.
"""

from __future__ import annotations

import time
from typing import Any, Final, TypedDict

__all__ = ["META_FIELDS", "META_IDS", "META_TIMES", "Meta", "failure_meta", "ids_of", "unix_milliseconds"]


class Meta(TypedDict, total=False):
    """The metadata of an event; a key that does not apply is absent, and never `None`."""

    session_id: str
    thread_id: str
    message_id: str
    run_id: str
    parent_run_id: str
    node_id: str
    node_name: str
    duration_ms: int
    upstream_time: int
    """The Unix milliseconds at which, according to the upstream, the event happened."""
    extra: dict[str, Any]
    source: dict[str, Any]
    private: dict[str, Any]
    """Fields of the upstream that only clients of its dialect may get, such as an app's prompt.

    They are not in the metadata of any other protocol, including the standard's.
    """


META_IDS: Final = (
    "session_id",
    "thread_id",
    "message_id",
    "run_id",
    "parent_run_id",
    "node_id",
    "node_name",
)
META_TIMES: Final = ("duration_ms", "upstream_time")
META_FIELDS: Final = (*META_IDS, *META_TIMES, "extra", "source")
"""The keys of metadata on the wire, in addition to those of the stamp."""

_OF_THE_UPSTREAM: Final = frozenset({"extra", "source", "private"})
_IDS: Final = frozenset(META_IDS)
_TIMES: Final = frozenset(META_TIMES)


def unix_milliseconds() -> int:
    """Return the current time in the form of a `timestamp`: milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def failure_meta(meta: Meta | None) -> Meta | None:
    """Return the part of `meta` that a failed call or step may have: no texts of the upstream."""
    if not meta or _OF_THE_UPSTREAM.isdisjoint(meta):
        return meta
    kept: Any = meta.copy()
    for name in _OF_THE_UPSTREAM:
        kept.pop(name, None)
    return kept or None


def ids_of(meta: Meta | None) -> Meta | None:
    """Return the ids and the place of an event in `meta`, without other facts about the event."""
    if meta is None or (len(meta) == 1 and "message_id" in meta) or meta.keys() <= _IDS:
        return meta
    kept = failure_meta(meta)
    if not kept or _TIMES.isdisjoint(kept):
        return kept
    kept = kept.copy()
    kept.pop("duration_ms", None)
    kept.pop("upstream_time", None)
    return kept or None
