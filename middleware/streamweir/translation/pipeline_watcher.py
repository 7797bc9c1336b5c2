"""The interface of a watcher of a pipeline, which learns what its stages do without being a sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from streamweir.events import Event

__all__ = ["PipelineWatcher", "note_rest"]


class PipelineWatcher(Protocol):
    """Watches one pipeline. The methods are called in the order of the stream; they must not raise."""

    def noted(self, event: Event, sequence: int) -> None:
        """Note an event that is about to be written; the further pieces of a text are not noted.

        Args:
            event: the event; it must not be changed.
            sequence: its sequence number.
        """

    def replaced(self, event: Event, events: Sequence[Event]) -> None:
        """Note that the sanitizer or the deduplication of texts puts `events` in place of `event`.

        Args:
            event: the event as it was read.
            events: the events in its place; none if it is left out.
        """

    def dropped(self) -> None:
        """Note that events follow the end of the stream."""


def note_rest(
    watcher: PipelineWatcher | None, items: Iterator[Any], frames: Iterator[tuple[Iterable[Any], object]]
) -> None:
    """Tell `watcher` whether events follow the end of the stream: in its frame, or in a later one."""
    if watcher is None:
        return
    if next(items, None) is not None:
        watcher.dropped()
        return
    for more, _ in frames:
        if [*more]:
            watcher.dropped()
            return
