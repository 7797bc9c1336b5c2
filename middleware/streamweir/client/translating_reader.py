"""Reads the body of a stream in any other dialect as events; the client normalises and numbers them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streamweir.client.rejections import info_of_envelope, is_envelope
from streamweir.errors import ErrorInfo, LimitExceeded, NotTheDialect
from streamweir.events import Event, Stamp
from streamweir.framing import Frame, SniffingParser
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.received_event import ReceivedEvent, failure_events, translated_event
from streamweir.translation.sink import EventTap

__all__ = ["TranslatingReader"]

HEAD_BYTES: Final = 64 << 10
"""The largest body that is checked for an envelope, because envelopes are small."""


class TranslatingReader:
    """Reads one stream.

    The bytes of the first frame are kept until it is complete, because it may be an envelope. This delays no
    event: a decoder reads complete frames only.

    Args:
        reader: the reader of the dialect.
        request_id: the id for the events.
        framing: the framing to assume if the first bytes do not decide it.
    """

    def __init__(self, reader: StreamReader, *, request_id: str, framing: str = "sse") -> None:
        self.was_rejected = False
        self._request_id = request_id
        self._received = _ReceivedEvents()
        self._stream = StreamNormalizer(reader, Pipeline((self._received,), request_id=request_id))
        self._first: SniffingParser | None = SniffingParser(HEAD_BYTES, expected=framing)
        self._head = b""

    @property
    def started(self) -> bool:
        """Whether an event has come."""
        return self._stream.started

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of a proper end."""
        return self._stream.complete

    @property
    def waits(self) -> bool:
        """Whether a person is asked, and the service may continue in this connection."""
        return self._stream.waits

    @property
    def ended(self) -> bool:
        """Whether the stream is over."""
        return self.was_rejected or self._stream.pipeline.ended

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Return the events that `data` completes."""
        if self.ended:
            return []
        if self._first is not None:
            self._head += data
            first, is_known = _first_frame(self._first.feed(data))
            if not is_known and len(self._head) <= HEAD_BYTES:
                return []
            if (rejected := self._pass_first(first)) is not None:
                return rejected
            data, self._head = self._head, b""
        self._stream.feed(data)
        return self._received.take()

    def close(self) -> list[ReceivedEvent]:
        """End the body: return the last events."""
        if self.ended:
            return []
        if self._first is not None:
            first, _ = _first_frame(self._first.finish())
            if (rejected := self._pass_first(first)) is not None:
                return rejected
            self._stream.feed(self._head)
        self._stream.close()
        return self._received.take()

    def fail(self, info: ErrorInfo) -> list[ReceivedEvent]:
        """Return the end of a stream that broke off; if its end had soft evidence, the stream is complete."""
        if self.ended:
            return []
        if self._head:
            self._stream.feed(self._head)
            self._head = b""
        self._stream.fail(info)
        return self._received.take()

    def _pass_first(self, first: Frame | None) -> list[ReceivedEvent] | None:
        """Return the end of the stream if the first frame is an envelope; else None."""
        self._first = None
        if first is None or not first.is_json or not is_envelope(envelope := first.json()):
            return None
        self.was_rejected = True
        info = info_of_envelope(envelope, status=200)
        return list(failure_events(info, request_id=self._request_id, sequence=0))


class _ReceivedEvents(EventTap):
    """The events of a stream, until `take` returns them."""

    def __init__(self) -> None:
        self._events: list[ReceivedEvent] = []

    def take(self) -> list[ReceivedEvent]:
        """Return the events that have arrived since the last call."""
        events, self._events = self._events, []
        return events

    def write(self, event: Event, stamp: Stamp) -> None:
        self._events.append(translated_event(event, stamp))


def _first_frame(frames: Iterable[Frame]) -> tuple[Frame | None, bool]:
    """Return the first frame (None if there is none), and whether no further bytes have to be waited for."""
    try:
        first = next(iter(frames), None)
    except (LimitExceeded, NotTheDialect):  # the stream will end with it
        return None, True
    return first, first is not None
