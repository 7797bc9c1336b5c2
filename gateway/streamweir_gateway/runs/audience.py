"""The interface between a run and the receiver of its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streamweir.codec.base import Options
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Audience"]


class Audience(Protocol):
    """Receives the events of a run: a delivery to one client, or the log of a resumable run.

    A run opens a sink for each attempt. Bytes stay in the sink until `send` or `send_at_once`, so that no
    client gets anything of an attempt that is given up.
    """

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> EventSink:
        """Return the sink for the events of another attempt.

        Args:
            reader: reads the answer of the upstream.
            options: the options of each dialect, by its name.
            write_timeout: the longest time in seconds for which a client may take nothing; None: no limit.
        """
        ...

    def awaits_document(self, sink: EventSink) -> bool:
        """Take note that the body is of a JSON type; return whether one document needs a sink of its own.

        Args:
            sink: of the present attempt. If it copies lines of JSON it copies a document too.
        """
        ...

    def open_document_sink(self, reader: StreamReader, data: bytes) -> EventSink | None:
        """Return the sink for one JSON document, which the client gets unchanged; replaces the last sink.

        Args:
            reader: of the attempt; nothing has been read.
            data: the document.

        Returns:
            None if the document is of another dialect than the client's: it is translated.
        """
        ...

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Forward the configured headers of the upstream's response, unless ours have been sent."""
        ...

    def send_at_once(self, now: float) -> bool:
        """Send the bytes of the last sink without waiting; return False if `send` has to.

        Args:
            now: `time.monotonic()`.
        """
        ...

    @property
    def has_unsent(self) -> bool:
        """Whether bytes are left that `send_at_once` could not send."""
        ...

    async def send(self) -> None:
        """Send the bytes of the last sink; return when they have been taken."""
        ...
