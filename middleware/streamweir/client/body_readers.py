"""Reads the body of a stream as received events, without I/O and without raising on input."""

from __future__ import annotations

from typing import Protocol

from streamweir.client.standard_reader import StandardReader
from streamweir.client.translating_reader import TranslatingReader
from streamweir.codec.registry import process_dialects
from streamweir.errors import ErrorInfo
from streamweir.translation.reader import StreamReader
from streamweir.translation.received_event import ReceivedEvent

__all__ = ["BodyReader", "open_reader"]


class BodyReader(Protocol):
    """Reads one body: bytes in, events out."""

    @property
    def started(self) -> bool:
        """Whether an event has come."""

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of a proper end, so silence is no failure."""

    @property
    def waits(self) -> bool:
        """Whether a person is asked, and the service may continue in this connection."""

    @property
    def ended(self) -> bool:
        """Whether the stream is over; nothing more will be returned."""

    @property
    def was_rejected(self) -> bool:
        """Whether an error envelope came in place of a stream."""

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Return the events that `data` completes."""

    def close(self) -> list[ReceivedEvent]:
        """End the body: return the last events, with an `error` if the end is missing."""

    def fail(self, info: ErrorInfo) -> list[ReceivedEvent]:
        """End the body, which broke off; return the events of the end."""


def open_reader(speaks: str, *, request_id: str, path: str, goes_on: bool = False) -> BodyReader:
    """Return the reader for one stream.

    Args:
        speaks: the dialect of the stream.
        request_id: the id for events that the client makes.
        path: the path of the URL, which may decide options of the dialect.
        goes_on: the body continues a stream that has begun, in the standard protocol.

    Raises:
        UnknownDialectError: there is no decoder for `speaks`.
    """
    if speaks == "standard":
        return StandardReader(request_id, goes_on=goes_on)
    if speaks == "auto":
        return TranslatingReader(StreamReader(), request_id=request_id)
    dialect = process_dialects().to_read(speaks)
    reader = StreamReader(dialect, options={speaks: dialect.options_for(path)})
    return TranslatingReader(reader, request_id=request_id, framing=dialect.framing)
