"""The content of a capture file: one recorded stream.

Source: the contract of capture files, sections 1 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Capture", "Read"]


@dataclass(frozen=True, slots=True)
class Read:
    """One read of an upstream's body.

    Attributes:
        t: milliseconds since the capture began.
        data: the bytes, content coding removed; None if only their number was recorded.
        attempt: the number of its attempt, from 1.
    """

    t: float
    data: bytes | None
    attempt: int = 1


@dataclass(slots=True)
class Capture:
    """One recorded stream.

    Attributes:
        meta: the first line: id, time and the options of the translation.
        requests: the lines of requests, in order, as in all lists that follow.
        responses: the heads of responses.
        recorded: the reads of the upstream's body, all attempts.
        events: the events of the standard protocol.
        writes: the pieces of the client's body.
        marks: notable moments, such as the commit point.
        attempts: the lines that describe how each attempt ended.
        end: the line that describes how the stream ended; None if the recording broke off.
        notes: one sentence for each part that the reader skipped.
    """

    meta: dict[str, Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    recorded: list[Read] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    writes: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The request id of the stream."""
        return str(self.meta["id"])

    @property
    def has_content(self) -> bool:
        """Whether the bytes were recorded, not only their number."""
        return self.meta.get("content") != "metadata"

    @property
    def reads(self) -> list[tuple[float, bytes]]:
        """The reads of the last attempt, each with its time."""
        last = max((read.attempt for read in self.recorded), default=1)
        return [
            (read.t, read.data) for read in self.recorded if read.attempt == last and read.data is not None
        ]

    @property
    def body(self) -> bytes:
        """The recorded part of the body of the last attempt."""
        return b"".join(data for _, data in self.reads)

    @property
    def is_cut(self) -> bool:
        """Whether the middle of the body was left out."""
        return any(mark.get("what") == "left_out" and mark.get("lane") == "read" for mark in self.marks)

    @property
    def last_attempt(self) -> dict[str, Any] | None:
        """The line that describes how the last attempt ended; None if that was not recorded."""
        return self.attempts[-1] if self.attempts else None

    def response(self, side: str) -> dict[str, Any] | None:
        """Return the last response head from the upstream, or the last one sent to the client."""
        heads = [head for head in self.responses if head.get("side") == side]
        return heads[-1] if heads else None
