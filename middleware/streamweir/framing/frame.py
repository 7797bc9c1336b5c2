"""The unit between framing and dialects: one event's bytes, before anybody has understood them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from streamweir.jsontext import parse_json

__all__ = ["Frame", "FrameParser"]

_UNPARSED: Any = object()


class Frame:
    """One event on the wire.

    Attributes:
        data: the payload, without framing; several `data:` lines are joined by LF. Empty for an SSE block
            that has nothing but an event name.
        event: the SSE event name, or None.
        id: the SSE id in force, or None.
        unterminated: the body ended before the frame did, so it may be half a frame.
        invalid_text: `json()` had to repair bytes that are no UTF-8, or lone surrogates.
    """

    __slots__ = ("_value", "data", "event", "id", "invalid_text", "unterminated")

    def __init__(
        self, data: bytes, event: str | None = None, id: str | None = None, *, unterminated: bool = False
    ) -> None:
        self.data = data
        self.event = event
        self.id = id
        self.unterminated = unterminated
        self.invalid_text = False
        self._value = _UNPARSED

    def json(self) -> Any:
        """Return the JSON value of `data`; the same object each time: do not change it.

        Raises:
            MalformedEvent: `data` is no JSON.
        """
        if self._value is _UNPARSED:
            self._value, self.invalid_text = parse_json(self.data)
        return self._value

    @property
    def text(self) -> str:
        """`data` as text; bytes that are no UTF-8 become U+FFFD."""
        return self.data.decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"Frame({self.data!r}, event={self.event!r}, id={self.id!r})"


class FrameParser(Protocol):
    """Bytes in, frames out; incremental and bounded."""

    @property
    def recognised(self) -> bool:
        """Something of this framing has been seen, if only a comment."""
        ...

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes; exhaust it before the next call.

        Raises:
            LimitExceeded: a frame is larger than allowed; all before it have been yielded.
            NotTheDialect: the body is no such framing at all.
        """
        ...

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes; the last frame may be `unterminated`."""
        ...
