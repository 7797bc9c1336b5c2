"""Watches which texts the stages of a pipeline replace, and which events after the end are dropped.

A pipeline that is not watched does not use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from streamweir.events import Event
from streamweir.translation.pipeline import Pipeline

__all__ = ["OnChange", "watch_stages"]

OnChange: TypeAlias = Callable[[Event, Sequence[Event]], None]
"""Takes an event, and the events that replaced it in a stage; no events if it was left out."""

_Process: TypeAlias = Callable[[Event], Iterable[Event] | None]


def watch_stages(pipeline: Pipeline, on_change: OnChange, on_dropped: Callable[[], None]) -> None:
    """Watch a pipeline from its first event on.

    Args:
        pipeline: the pipeline of the stream, before its first event.
        on_change: called with each event that the sanitizer or the deduplication of texts replaces.
        on_dropped: called if events follow the end of the stream.
    """

    def on_end(items: Iterator[Any], frames: Iterator[Any]) -> None:
        if any(True for _ in items) or any([*more] for more, _ in frames):
            on_dropped()

    sanitizer, tools, texts, *others = pipeline.processes
    pipeline.processes = (_watched(sanitizer, on_change), tools, _watched(texts, on_change), *others)
    pipeline.on_end = on_end


def _watched(process: _Process, on_change: OnChange) -> _Process:
    """Return `process` with a call of `on_change` for each event that it replaces or leaves out."""

    def watched(event: Event) -> Iterable[Event] | None:
        events = process(event)
        if events is None:
            return None
        replaced = tuple(events)
        on_change(event, replaced)
        return replaced

    return watched
