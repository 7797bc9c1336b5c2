"""The delivery of a stream as the response of an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence

from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.delivery import Delivery
from streamweir.failures.upstream_refusal import writable_value
from streamweir.http.headers import HeaderList, Headers, encoded_headers, kept_headers, stream_headers
from streamweir.translation.clock import StreamClock
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["ResponseDelivery"]


class ResponseDelivery(Delivery):
    """A delivery with the headers of a stream, and the application's headers except those about the old body.

    The content type is that of the application if the client gets the application's frames byte for byte.

    Args:
        client: gets the response.
        clock: the clock of the delivery.
        request_id: the id of the stream.
        headers: the headers of the application's response.
    """

    __slots__ = ("_given", "_kept", "_request_id")

    def __init__(
        self,
        client: ClientPort,
        clock: StreamClock,
        *,
        request_id: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(client, clock)
        self._request_id = request_id
        self._kept = kept_headers(headers)
        self._given: HeaderList = headers

    def _headers(self) -> Headers:
        others = [*self._kept, *encoded_headers(self.sink.headers)]
        return stream_headers(self._media_type(), self._request_id, others)

    def _media_type(self) -> str:
        is_copied = isinstance(self.sink, VerbatimWriter) and self.sink.copies
        return (self.content_type if is_copied else "") or self.sink.media_type

    @property
    def content_type(self) -> str:
        """The application's content type; empty if there is none that can be sent."""
        return writable_value(self._given, b"content-type").decode("latin-1")
