"""The position of the reader of a stored run, with the interface of a pipeline's position."""

from __future__ import annotations

from typing import Protocol

from streamweir_gateway.runs.stream_recorder import ReaderFacts

__all__ = ["Position", "ReaderPosition"]


class Position(Protocol):
    """Counts the events of a stream."""

    @property
    def written(self) -> int:
        """The sequence number of the next event."""
        ...


class ReaderPosition:
    """The position of a reader.

    Args:
        reader: the reader of the run.
    """

    __slots__ = ("_reader",)

    def __init__(self, reader: ReaderFacts) -> None:
        self._reader = reader

    @property
    def written(self) -> int:
        """The sequence number of the next event."""
        return self._reader.at
