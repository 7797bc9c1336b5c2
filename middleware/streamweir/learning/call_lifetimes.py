"""Decides which records begin a call, which end it, and which only repeat its begin or end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamweir.jsontext import write_json_text
from streamweir.learning.argument_pieces import has_arguments
from streamweir.learning.tool_use import ToolUse
from streamweir.learning.units import At, Record

__all__ = ["drop_repetitions", "key_set", "resolve_lifetimes"]


def resolve_lifetimes(uses: list[ToolUse]) -> None:
    """Mark records that both begin and end calls as ends only, if other records have begun these calls."""
    others = [use for use in uses if use.use in ("start", "pieces")]
    for use in uses:
        if use.use == "both":
            started_before = _keys(other for other in others if other is not use)
            begins, ends = use.begins_and_ends
            if not begins and ends and key_set(use) & started_before:
                use.use = "end"
        if use.use == "end" and not any(other.use in ("start", "both", "pieces") for other in uses):
            is_whole = use.name is not None and (use.result is not None or use.arguments is not None)
            use.use = "both" if is_whole else "end"
    if not any(use.use in ("end", "both") for use in uses):
        return
    for use in uses:
        if use.use == "end" and use.result is None and use.error is None:
            richer = [
                other for other in uses if other is not use and other.use in ("end", "both") and other.result
            ]
            if any(key_set(use) & key_set(other) for other in richer):
                use.use = "again"


def _keys(uses: Iterable[ToolUse]) -> set[str]:
    return {key for use in uses for key in key_set(use)}


def key_set(use: ToolUse) -> set[str]:
    """Return the keys of the calls in these records: their ids, or their names if they have no ids."""
    place = use.tool_id or use.name
    return {
        str(use.value(record, place)) for record, _ in use.records if use.value(record, place) is not None
    }


def drop_repetitions(uses: list[ToolUse]) -> None:
    """Mark records as repetitions if all their calls had begun and ended before."""
    _drop_announcements(uses)
    given: list[tuple[At, ToolUse, Record]] = sorted(
        (
            (record.at, use, record)
            for use in uses
            if use.use in ("start", "end", "both")
            for record, _ in use.records
        ),
        key=lambda found: found[0],
    )
    news: set[int] = set()
    begun: set[tuple[Any, ...]] = set()
    ended: set[tuple[Any, ...]] = set()
    collected = _keys(use for use in uses if use.use == "pieces" or use.collects)
    for at, use, record in given:
        key = _call_key(use, record)
        has_ended = use.use == "end" or (use.use == "both" and use.has_ended(record))
        is_new = False
        if use.use in ("start", "both"):
            is_new = (at.body, key) not in begun or key[0] in collected
            begun.add((at.body, key))
        if has_ended:
            is_new = is_new or (at.body, key) not in ended
            ended.add((at.body, key))
        if is_new or key == (None,):
            news.add(id(use))
    for use in uses:
        if use.use in ("start", "end", "both") and id(use) not in news and not use.collects:
            use.use = "again"


def _drop_announcements(uses: list[ToolUse]) -> None:
    """Drop starts without arguments if a later start of the same call has the arguments."""
    starts = [use for use in uses if use.use == "start"]
    for place, use in enumerate(starts):
        if has_arguments(use):
            continue
        for other in starts[place + 1 :]:
            if has_arguments(other) and (key_set(use) <= key_set(other) or _names(use) == _names(other)):
                use.use, use.collects = "again", False


def _names(use: ToolUse) -> list[str]:
    return sorted(str(use.value(record, use.name)) for record, _ in use.records)


def _call_key(use: ToolUse, record: Record) -> tuple[Any, ...]:
    """Return the key of a call: its id, or all its known fields if it has no id."""
    if use.tool_id is not None:
        return (str(use.value(record, use.tool_id)),)
    if use.use == "both":
        spoken = [use.value(record, place) for place in (use.name, use.arguments, use.result)]
        return (write_json_text(spoken),)
    return (None,)
