"""The position of the reader of a stored run, with the interface of a pipeline's position."""

from __future__ import annotations

from typing import Final, Protocol

from streamweir_gateway.runs.stream_recorder import ReaderFacts

__all__ = ["BEFORE_ATTEMPTS", "Position", "ReaderPosition"]


class Position(Protocol):
    """Counts the events of a stream."""

    @property
    def written(self) -> int | None:
        """The sequence number of the next event; None if no attempt has begun."""
        ...


class _BeforeAttempts:
    """The position in a response of the gateway itself, which no attempt has begun."""

    written = None


BEFORE_ATTEMPTS: Final = _BeforeAttempts()
"""The position before the first attempt."""


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
