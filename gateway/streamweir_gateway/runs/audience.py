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
    client gets bytes of an attempt that is given up.
    """

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> EventSink:
        """Return the sink for the events of another attempt.

        Args:
            reader: reads the answer of the upstream.
            options: the options of each dialect, by its name.
            write_timeout: the longest time in seconds for which a client may fail to read; None: no limit.
        """

    def awaits_document(self, sink: EventSink) -> bool:
        """Note that the body is of a JSON type.

        Return whether a single JSON document would need a sink of its own.

        Args:
            sink: the sink of the present attempt. A sink that copies lines of JSON copies a document too, and
                needs no other.
        """

    def open_document_sink(self, reader: StreamReader, data: bytes) -> EventSink | None:
        """Return the sink that copies one JSON document unchanged to the client. It replaces the last sink.

        Args:
            reader: the reader of the attempt, which has not read anything yet.
            data: the document.

        Returns:
            None if the document is of another dialect than the client's, and so has to be translated.
        """

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Forward the configured headers of the response, unless the client has got its headers."""

    def send_at_once(self, now: float) -> bool:
        """Send the bytes of the last sink without waiting.

        Return False if some bytes need `send`, which waits.

        Args:
            now: `time.monotonic()`.
        """

    @property
    def has_unsent(self) -> bool:
        """Whether bytes are left that `send_at_once` could not send."""

    async def send(self) -> None:
        """Send the bytes of the last sink, and wait until the client has taken them."""
