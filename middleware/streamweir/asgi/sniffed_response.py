"""A response that may be a stream: held until a dialect claims it, or passed on unchanged if none does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streamweir.codec.detector import Detector
from streamweir.framing.content_coding import BodyDecoder, CodedBodyError, body_decoder
from streamweir.http.headers import header_value
from streamweir.http.sending import Message
from streamweir.translation.reading.marked_event import whole_event

__all__ = ["SniffedResponse"]

_BODY: Final = "http.response.body"


class SniffedResponse:
    """Holds the messages of one response until its dialect is known.

    Args:
        start: the response's first message.
        limit: the most decoded bytes to look at.

    Attributes:
        messages: the messages taken until now, in order.
        head: the decoded part of the body that has arrived.
        dialect: the name of the dialect that claims the body; None until a dialect does.
        is_foreign: no dialect claims the body, and more of it would not change that.
        has_ended: the whole body has arrived.
        decoder: undoes the content coding of the body; None if there is no coding.
    """

    def __init__(self, start: Message, *, limit: int) -> None:
        self.messages: list[Message] = [start]
        self.head = bytearray()
        self.dialect: str | None = None
        self.is_foreign = False
        self.has_ended = False
        self.decoder: BodyDecoder | None = None
        self._limit = limit
        self._detector = Detector(limit)
        self._has_own_events = False
        try:
            self.decoder = body_decoder(header_value(start.get("headers", ()), b"content-encoding"))
        except CodedBodyError:
            self.is_foreign = True

    @property
    def is_blank(self) -> bool:
        """Whether only blanks and comments have arrived."""
        return self._detector.blank and not self._has_own_events

    def take(self, message: Message) -> None:
        """Take the next message, and search the body for a dialect."""
        self.messages.append(message)
        if message["type"] != _BODY:
            self.is_foreign = True  # a file, whose bytes the middleware does not see
            return
        self.has_ended = not message.get("more_body")
        try:
            for piece in self._decoded(bytes(message.get("body", b""))):
                self._look_at(piece)
        except CodedBodyError:
            self.is_foreign = True
        if self.dialect is None and (self.has_ended or self._detector.exhausted):
            self.give_up()

    def give_up(self) -> None:
        """Choose the most likely dialect now, although more of the body may follow.

        A body with events of this process is always a stream.
        """
        self.dialect = self._detector.finish() or ("standard" if self._has_own_events else None)
        self.is_foreign = self.dialect is None

    def _look_at(self, piece: bytes) -> None:
        self.head += piece
        if whole_event(piece) is not None:
            self._has_own_events = True
        elif self.dialect is None:
            self.dialect = self._detector.feed(piece)
        if len(self.head) > 2 * self._limit:
            raise CodedBodyError("the head of the body unpacks to more than is looked at")

    def _decoded(self, data: bytes) -> Iterable[bytes]:
        return (data,) if self.decoder is None else self.decoder.feed(data)
