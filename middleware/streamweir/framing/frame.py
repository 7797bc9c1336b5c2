"""The unit between framing and dialects: the bytes of one message, before a decoder reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from streamweir.errors import MalformedEvent
from streamweir.jsontext import decode_text, parse_json

__all__ = ["Frame", "FrameParser"]


class Frame(msgspec.Struct, eq=False, gc=False):
    """One message on the wire. It holds no reference to itself, so it needs no garbage collection.

    Attributes:
        data: the payload, without framing; several `data:` lines are joined by LF. Empty for an SSE block
            that only has an event name. An encoder may set text instead of bytes.
        event: the SSE event name; None without one.
        id: the current SSE id (the last one in the body); None without one.
        raw: all bytes of the frame as they arrived, with field names and line ends; None if the parser does
            not keep them. The `raw` of all frames of a body, gaps included, join to the body.
        is_gap: only bytes between two frames (comments, blank lines, fields without data), which no decoder
            reads. Only parsers that keep `raw` return gaps.
        is_unreadable: set by the reader: the dialect could not read the frame, or only half of it arrived.
        unterminated: the body ended before the frame did, so it may be half a frame.
        bare: the frame is only a JSON text (an NDJSON line, a whole document), not an SSE block.
        invalid_text: set by `json()` and `text` if they repaired invalid UTF-8 or lone surrogates.
    """

    data: bytes
    event: str | None = None
    id: str | None = None
    raw: bytes | None = None
    is_gap: bool = False
    is_unreadable: bool = False
    unterminated: bool = False
    bare: bool = False
    invalid_text: bool = False
    _value: Any = msgspec.UNSET

    def json(self) -> Any:
        """Return the JSON value of `data`. Every call returns the same object, which must not be changed.

        Raises:
            MalformedEvent: `data` is not JSON.
        """
        value = self._value
        if value is msgspec.UNSET:
            value, is_damaged = parse_json(self.data)
            self._value = value
            if is_damaged:
                self.invalid_text = True
        return value

    def json_or(self, default: Any) -> Any:
        """Return the JSON value of `data`, which must not be changed; `default` if `data` is not JSON."""
        try:
            return self.json()
        except MalformedEvent:
            return default

    @property
    def is_json(self) -> bool:
        """Whether `data` is JSON."""
        return self.json_or(msgspec.UNSET) is not msgspec.UNSET

    def forget_value(self) -> None:
        """Drop the cached JSON value, which takes up to thirty times the memory of `data`."""
        self._value = msgspec.UNSET

    @property
    def text(self) -> str:
        """`data` as text; bytes that are not UTF-8 become U+FFFD."""
        text, damaged = decode_text(self.data)
        self.invalid_text = self.invalid_text or damaged
        return text

    def __repr__(self) -> str:
        return f"Frame({self.data!r}, event={self.event!r}, id={self.id!r})"


class FrameParser(Protocol):
    """Cuts the bytes of a body into frames, incrementally and in bounded memory."""

    @property
    def recognised(self) -> bool:
        """Whether the body has begun in this framing, perhaps only with a comment."""

    @property
    def cut_off(self) -> bool:
        """Whether the body ended within a line that makes no frame (`event: mess`); known after `finish`."""

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: during the iteration: a frame is larger than allowed; all frames before it have
                been returned.
            NotTheDialect: the body is not in this framing.
        """

    def finish(self) -> Iterator[Frame]:
        """Yield the frames that the end of the body completes; the last one may be `unterminated`."""
