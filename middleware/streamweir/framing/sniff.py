"""Which framing is this? Decided by the first byte that says something, never by holding events back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from streamweir.errors import NotTheDialect
from streamweir.framing.blank import BLANK
from streamweir.framing.frame import Frame
from streamweir.framing.lines import LinesParser
from streamweir.framing.ndjson import NDJSONParser
from streamweir.framing.objects import ObjectsParser
from streamweir.framing.sse import SSEParser
from streamweir.framing.text_body import TextBodyParser

__all__ = ["SniffingParser"]

_SSE_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


_PLAIN: Final[Mapping[str, type[LinesParser] | type[TextBodyParser]]] = {
    "lines": LinesParser,
    "text": TextBodyParser,
}

_NAMES: Final[Mapping[type, str]] = {
    SSEParser: "sse",
    NDJSONParser: "ndjson",
    ObjectsParser: "ndjson",
    LinesParser: "lines",
    TextBodyParser: "text",
}

_Parser = SSEParser | NDJSONParser | ObjectsParser | LinesParser | TextBodyParser


class SniffingParser:
    """Reads SSE and NDJSON alike: many backends speak the other one than they are said to.

    Args:
        limit: the most bytes that one event may have.
        expected: what to assume where the first bytes leave it open. For `lines` and `text` they are not
            asked: plain text may begin with anything.
        in_a_row: JSON objects may stand one behind the other, without line ends between them.

    Attributes:
        chosen: the parser of the framing, once that is decided; it may be fed directly.
    """

    def __init__(self, limit: int, expected: str = "sse", in_a_row: bool = False) -> None:
        self._limit = limit
        self._expected = expected
        self._in_a_row = in_a_row
        self._head = b""
        self.chosen: _Parser | None = _PLAIN[expected](limit) if expected in _PLAIN else None

    @property
    def recognised(self) -> bool:
        """Something of the framing has been seen, if only a comment."""
        return self.chosen is not None and self.chosen.recognised

    @property
    def blank(self) -> bool:
        """Nothing but blanks has come."""
        if self._expected in _PLAIN:
            return not self.recognised
        return self.chosen is None and not self._head

    @property
    def cut_off(self) -> bool:
        """After `finish`: the body ended within a line that is no frame."""
        return self.chosen is not None and self.chosen.cut_off

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: while they are taken: an event is larger than the limit.
            NotTheDialect: the body is markup.
        """
        if self.chosen is not None:
            return self.chosen.feed(data)
        self._head = (self._head + data).lstrip(BLANK)
        if self._head.startswith(b"<"):
            return _refused()
        self.chosen = self._choose(self._head)
        if self.chosen is None:
            return ()
        head, self._head = self._head, b""
        return self.chosen.feed(head)

    @property
    def is_between(self) -> bool:
        """Nothing has come of the next frame, which is JSON."""
        return isinstance(self.chosen, SSEParser | NDJSONParser) and self.chosen.is_between

    def whole_frame(self, data: bytes) -> Frame | None:
        """Return the frame that `data` is where it stands between frames; None if it is not just one."""
        if not isinstance(self.chosen, SSEParser | NDJSONParser) or len(data) > self._limit:
            return None
        alone = type(self.chosen)(self._limit)
        frames = [*alone.feed(data)]
        return frames[0] if len(frames) == 1 and alone.is_between else None

    @property
    def framing(self) -> str | None:
        """What the body is framed as; None while that is open."""
        return None if self.chosen is None else _NAMES[type(self.chosen)]

    @property
    def is_document(self) -> bool:
        """The body is one document, of which nothing is given before its end."""
        return isinstance(self.chosen, NDJSONParser) and self.chosen.is_document

    def decide(self, head: bytes) -> str | None:
        """Return what a body is framed as that begins with `head`, which is not read; None: it is open."""
        if self.chosen is None:
            self.chosen = self._choose(head.lstrip(BLANK))
        return self.framing

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes."""
        if self.chosen is None and not self._head:
            return
        if self.chosen is None:
            self.chosen = self._assume()
            yield from self.chosen.feed(self._head)
        yield from self.chosen.finish()

    def _choose(self, start: bytes) -> SSEParser | NDJSONParser | ObjectsParser | None:
        if not start:
            return None
        if self._in_a_row and start.startswith(b"{"):
            return ObjectsParser(self._limit)
        if start.startswith((b"{", b"[")):
            return NDJSONParser(self._limit)
        if self._expected == "sse" or start.startswith(_SSE_FIELDS):
            return SSEParser(self._limit)
        return None if _begins_field(start) else NDJSONParser(self._limit)

    def _assume(self) -> SSEParser | NDJSONParser:
        is_sse = self._expected == "sse" or _begins_field(self._head)
        return SSEParser(self._limit) if is_sse else NDJSONParser(self._limit)


def _begins_field(start: bytes) -> bool:
    return any(field.startswith(start) for field in _SSE_FIELDS)


def _refused() -> Iterator[Frame]:
    """Raise when the first frame is asked for, as every parser does."""
    yield from ()
    raise NotTheDialect("the body is markup")
