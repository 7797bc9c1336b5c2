"""Detects the framing of a body by its first bytes, without holding events back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
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


_PLAIN: Final = frozenset({"lines", "text"})

_LONGEST_BLANK: Final = 64 << 10
"""If a body begins with more blank bytes than this, the parser does not keep raw bytes."""

_NAMES: Final[Mapping[type, str]] = {
    SSEParser: "sse",
    NDJSONParser: "ndjson",
    ObjectsParser: "ndjson",
    LinesParser: "lines",
    TextBodyParser: "text",
}

_Parser = SSEParser | NDJSONParser | ObjectsParser | LinesParser | TextBodyParser


class SniffingParser:
    """Reads a body in SSE or NDJSON by detecting the framing: many backends do not send the expected one.

    Args:
        limit: the most bytes that one event may have.
        expected: the framing to assume if the first bytes do not decide it. With `lines` and `text` the
            framing is not detected, because plain text may begin with any bytes.
        in_a_row: JSON objects may follow each other without line ends between them.
        raw_in: the framings in which the frames have their `raw` bytes, and gaps are returned.

    Attributes:
        raw_in: the argument. It must not be changed once the framing is known.
    """

    _blank = b""
    """The blank bytes before the body, if raw bytes may have to be kept."""
    _is_behind_blocks = False
    """SSE blocks were read without a parser, and there is none yet: many short bodies never need it."""

    def __init__(
        self, limit: int, expected: str = "sse", in_a_row: bool = False, raw_in: Collection[str] = ()
    ) -> None:
        self._limit = limit
        self._expected = expected
        self._in_a_row = in_a_row
        self.raw_in = raw_in
        self._head = b""
        self._chosen: _Parser | None = None
        if expected in _PLAIN:
            self._chosen = (
                TextBodyParser(limit) if expected == "text" else LinesParser(limit, "lines" in raw_in)
            )

    @property
    def chosen(self) -> _Parser | None:
        """The parser of the framing, once the framing is known; it may be fed directly."""
        if self._is_behind_blocks:
            self._is_behind_blocks = False
            self._chosen = parser = SSEParser(self._limit, "sse" in self.raw_in)
            parser.note_blocks()
        return self._chosen

    @property
    def recognised(self) -> bool:
        """Whether the body has begun like its framing, if only with a comment."""
        chosen = self.chosen
        return chosen is not None and chosen.recognised

    @property
    def blank(self) -> bool:
        """Whether only blank bytes have arrived."""
        if self._expected in _PLAIN:
            return not self.recognised
        return self.chosen is None and not self._head

    @property
    def cut_off(self) -> bool:
        """Whether the body ended within a line that makes no frame; known after `finish`."""
        chosen = self.chosen
        return chosen is not None and chosen.cut_off

    @property
    def keeps_raw(self) -> bool:
        """Whether the frames of this body have their `raw` bytes, and gaps are returned."""
        if self._is_behind_blocks:
            return "sse" in self.raw_in
        chosen = self._chosen
        return chosen is not None and not isinstance(chosen, TextBodyParser) and chosen.keeps_raw

    @property
    def finder_of_only_frame(self) -> Callable[[bytes], Frame | None] | None:
        """The function that returns the frame of a read which is one whole frame, and None for any other
        read; None if there is no such function, or frames have their `raw` bytes.
        """
        chosen = self.chosen
        if type(chosen) is SSEParser or type(chosen) is NDJSONParser:
            return None if chosen.keeps_raw else chosen.only_frame
        return None

    @property
    def framing(self) -> str | None:
        """The framing of the body: `sse`, `ndjson`, `lines` or `text`; None while it is unknown."""
        if self._is_behind_blocks:
            return "sse"
        chosen = self._chosen
        return None if chosen is None else _NAMES[type(chosen)]

    @property
    def is_document(self) -> bool:
        """Whether the body is one document, whose frame is returned at the end of the body."""
        chosen = self.chosen
        return isinstance(chosen, NDJSONParser) and chosen.is_document

    @property
    def is_at_boundary(self) -> bool:
        """Whether no byte of the next frame has arrived."""
        if self._chosen is None:
            return self._is_behind_blocks or not (self._head or self._blank)
        return self._chosen.is_at_boundary

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: while they are taken: an event is larger than the limit.
            NotTheDialect: the body is markup.
        """
        chosen = self.chosen
        if chosen is not None:
            return chosen.feed(data)
        if self.raw_in:
            self._keep_blank(data)
        self._head = (self._head + data).lstrip(BLANK)
        if self._head.startswith(b"<"):
            return _refused()
        self._chosen = chosen = self._choose(self._head)
        if chosen is None:
            return ()
        head, self._head = self._head, b""
        if not self._blank or not self.keeps_raw:
            return chosen.feed(head)
        blank, self._blank = self._blank, b""
        return chain((Frame(b"", raw=blank, is_gap=True),), chosen.feed(head))

    def note_id(self, value: bytes) -> None:
        """Note the id of an SSE event that was read without the parser."""
        chosen = self.chosen
        if isinstance(chosen, SSEParser):
            chosen.note_id(value)

    def note_sse_blocks(self) -> None:
        """Note that the body begins with whole SSE blocks of data, which were read without the parser; do
        nothing if the framing is known.
        """
        self._is_behind_blocks = self._chosen is None

    def decide(self, head: bytes) -> str | None:
        """Return the framing of a body that begins with `head`, without reading it; None if undecided."""
        if self.chosen is None:
            self._chosen = self._choose(head.lstrip(BLANK))
        return self.framing

    def finish(self) -> Iterator[Frame]:
        """Yield the frames that the end of the body completes."""
        chosen = self.chosen
        if chosen is None and not self._head:
            return
        if chosen is None:
            self._chosen = chosen = self._assume()
            yield from chosen.feed(self._head)
        yield from chosen.finish()

    def _keep_blank(self, data: bytes) -> None:
        """Keep the blank bytes at the beginning of the body for the first gap."""
        if not self._head:
            self._blank += data[: len(data) - len(data.lstrip(BLANK))]
        if len(self._blank) > _LONGEST_BLANK:
            self.raw_in, self._blank = (), b""

    def _choose(self, start: bytes) -> SSEParser | NDJSONParser | ObjectsParser | None:
        if not start:
            return None
        if self._in_a_row and start.startswith(b"{"):
            return ObjectsParser(self._limit, "ndjson" in self.raw_in)
        if start.startswith((b"{", b"[")):
            return NDJSONParser(self._limit, "ndjson" in self.raw_in)
        if self._expected == "sse" or start.startswith(_SSE_FIELDS):
            return SSEParser(self._limit, "sse" in self.raw_in)
        return None if _begins_field(start) else NDJSONParser(self._limit)

    def _assume(self) -> SSEParser | NDJSONParser:
        is_sse = self._expected == "sse" or _begins_field(self._head)
        return SSEParser(self._limit) if is_sse else NDJSONParser(self._limit)


def _begins_field(start: bytes) -> bool:
    return any(field.startswith(start) for field in _SSE_FIELDS)


def _refused() -> Iterator[Frame]:
    """Return an iterator that raises on its first step, like those of parsers."""
    yield from ()
    raise NotTheDialect("the body is markup")
