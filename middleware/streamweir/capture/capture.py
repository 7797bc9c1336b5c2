"""One recorded stream, as it stands in a capture file.

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
        data: the bytes, decoded; None where they were left out.
        attempt: which attempt it is of, from 1.
    """

    t: float
    data: bytes | None
    attempt: int = 1


@dataclass(slots=True)
class Capture:
    """One recorded stream.

    Attributes:
        meta: the first line: id, time, what shaped the translation.
        requests: the lines of requests, in order; likewise the next ones.
        responses: the heads of responses.
        recorded: the reads of the upstream's body, all attempts.
        events: the events of the standard protocol.
        writes: the pieces of the client's body.
        marks: what was worth seeing.
        attempts: how each attempt ended.
        end: how the stream ended; None: the recording broke off.
        notes: what the reader passed over, in a sentence each.
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
        """The request id."""
        return str(self.meta["id"])

    @property
    def has_content(self) -> bool:
        """The bytes were recorded, not their numbers alone."""
        return self.meta.get("content") != "metadata"

    @property
    def reads(self) -> list[tuple[float, bytes]]:
        """The reads of the last attempt, each with when it came."""
        last = max((read.attempt for read in self.recorded), default=1)
        return [
            (read.t, read.data) for read in self.recorded if read.attempt == last and read.data is not None
        ]

    @property
    def body(self) -> bytes:
        """The body of the last attempt, as much of it as was recorded."""
        return b"".join(data for _, data in self.reads)

    @property
    def is_cut(self) -> bool:
        """The middle of the body was left out."""
        return any(mark.get("what") == "left_out" and mark.get("lane") == "read" for mark in self.marks)

    @property
    def last_attempt(self) -> dict[str, Any] | None:
        """How the last attempt ended; None where nothing is known of it."""
        return self.attempts[-1] if self.attempts else None

    def response(self, side: str) -> dict[str, Any] | None:
        """Return the last head that came from the upstream, or went to the client."""
        heads = [head for head in self.responses if head.get("side") == side]
        return heads[-1] if heads else None
