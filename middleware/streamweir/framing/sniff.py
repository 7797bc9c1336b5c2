"""Which framing is this? Decided by the first byte that says something, never by holding events back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamweir.errors import NotTheDialect
from streamweir.framing.frame import Frame
from streamweir.framing.ndjson import NDJSONParser
from streamweir.framing.sse import SSEParser

__all__ = ["SniffingParser"]

_BLANK = b"\xef\xbb\xbf \t\r\n"
"""What says nothing in front of a body: a byte order mark, cut or whole, and white space."""

_SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class SniffingParser:
    """Reads SSE and NDJSON alike: many backends speak the other one than they are said to.

    Args:
        limit: the most bytes that one event may have.
        expected: what to assume where the first bytes leave it open.
    """

    def __init__(self, limit: int, *, expected: str = "sse") -> None:
        self._limit = limit
        self._expected = expected
        self._head = b""
        self._parser: SSEParser | NDJSONParser | None = None

    @property
    def recognised(self) -> bool:
        """Something of the framing has been seen, if only a comment."""
        return self._parser is not None and self._parser.recognised

    @property
    def blank(self) -> bool:
        """Nothing but blanks has come."""
        return self._parser is None and not self._head

    @property
    def cut_off(self) -> bool:
        """After `finish`: the body ended within a line that is no frame."""
        return self._parser is not None and self._parser.cut_off

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: while they are taken: an event is larger than the limit.
            NotTheDialect: the body is markup.
        """
        return self._feed_head(data) if self._parser is None else self._parser.feed(data)

    def _feed_head(self, data: bytes) -> Iterator[Frame]:
        self._head = (self._head + data).lstrip(_BLANK)
        self._parser = self._choose(self._head)
        if self._parser is not None:
            head, self._head = self._head, b""
            yield from self._parser.feed(head)

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes."""
        if self.blank:
            return
        if self._parser is None:
            self._parser = self._assume()
            yield from self._parser.feed(self._head)
        yield from self._parser.finish()

    def _choose(self, start: bytes) -> SSEParser | NDJSONParser | None:
        if not start:
            return None
        if start.startswith(b"<"):
            raise NotTheDialect("the body is markup")
        if start.startswith((b"{", b"[")):
            return NDJSONParser(self._limit)
        if self._expected == "sse" or start.startswith(_SSE_FIELDS):
            return SSEParser(self._limit)
        if any(field.startswith(start) for field in _SSE_FIELDS):
            return None
        return NDJSONParser(self._limit)

    def _assume(self) -> SSEParser | NDJSONParser:
        return SSEParser(self._limit) if self._expected == "sse" else NDJSONParser(self._limit)
