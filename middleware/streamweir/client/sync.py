"""Asks for a stream without an event loop, for scripts: with the events, errors, clocks and resuming of the
asynchronous client.

    with stream_request("https://example.org/chat", json={"message": "Hi"}) as events:
        for event in events:
            ...

No event loop is started or needed. A call within a running event loop blocks that loop. Needs extra `client`.

Source: the library contract, section 5.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Final, NoReturn, Self, TypeAlias, Unpack

import httpx

from streamweir.client.engine import StreamFacts, open_engine
from streamweir.client.http_request import HttpRequest, RequestParts, tls_context
from streamweir.client.request_options import PARAMETERS, REQUEST_DEFAULTS, RequestOptions
from streamweir.client.waits import ThreadWaits, run_now
from streamweir.options.signatures import checked, spells_out
from streamweir.translation.received_event import ReceivedEvent

__all__ = ["StreamRequest", "stream_request"]

Body: TypeAlias = str | bytes | Iterable[bytes]


@spells_out(RequestOptions, REQUEST_DEFAULTS, order=PARAMETERS)
def stream_request(
    url: str,
    *,
    content: Body | None = None,
    client: httpx.Client | None = None,
    **options: Unpack[RequestOptions],
) -> StreamRequest:
    """Return the events of the stream at `url`, to be read with `for`.

    The request is sent when the first event is asked for. The options and the errors are those of
    `streamweir.client.stream_request`; `client` is an `httpx.Client`, and `content` may be an iterable.

    Raises:
        ConfigurationError: an option has an invalid value.
        UnknownDialectError: there is no decoder for `speaks`.
    """
    given = checked(options, REQUEST_DEFAULTS)
    return StreamRequest(
        open_engine(partial(_ThreadRequest, client), ThreadWaits(), url, content=content, **given)
    )


class StreamRequest(StreamFacts):
    """The events of one stream: an iterator, and a context manager that closes the connection.

    Without `with`, the connection is closed at the end of the stream, or by `close`.
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ReceivedEvent:
        try:
            return run_now(self._engine.next())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, also while another thread is reading: its iteration then ends."""
        run_now(self._engine.aclose())

    def cancel(self) -> str:
        """Stop the run, in whatever process it is made, and return its status: `cancelled`, unless the run
        ended before.

        Raises:
            StreamRequestError: the server could not be asked, or does not know the run.
        """
        return run_now(self._engine.cancel())

    def __aiter__(self) -> NoReturn:
        raise TypeError(_HAS_NO_LOOP)

    def __aenter__(self) -> NoReturn:
        raise TypeError(_HAS_NO_LOOP)

    def __aexit__(self, *_: object) -> NoReturn:
        raise TypeError(_HAS_NO_LOOP)


_HAS_NO_LOOP: Final = (
    "this stream is read with `for` and `with`; on an event loop use streamweir.client.stream_request"
)


class _ThreadRequest(HttpRequest):
    """A request whose calls block.

    Args:
        client: the httpx client to use, which is left open; None: a new one.
        parts: the parts of the request.
    """

    def __init__(self, client: httpx.Client | None, parts: RequestParts) -> None:
        self._client = client or httpx.Client(verify=tls_context(), trust_env=False)
        self._chunks: Iterator[bytes] | None = None
        self._connected: Any = None
        self._is_aborted = False
        super().__init__(parts.built_by(self._client.build_request), owns_client=client is None)
        self._request.extensions["trace"] = self._note_connection

    def _note_connection(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the connection that httpcore has opened for this request, so that it can be aborted."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._connected = info["return_value"]
            if self._is_aborted:
                self.abort()

    async def _send(self) -> httpx.Response:
        response = self._client.send(self._request, stream=True, follow_redirects=False)
        self._connected = response.extensions.get("network_stream", self._connected)
        self._chunks = response.iter_raw()
        return response

    async def _next_chunk(self) -> bytes | None:
        assert self._chunks is not None
        return next(self._chunks, None)

    def abort(self) -> None:
        """Shut the socket down, so that the thread that waits for it continues at once, with an error.

        The descriptor is duplicated, because a TLS socket must not be shut down from another thread.
        """
        self._is_aborted = True  # also for a connection that is being opened
        connected = self._connected
        opened = None if connected is None else connected.get_extra_info("socket")
        with contextlib.suppress(OSError):
            if opened is not None and opened.fileno() >= 0:
                with socket.socket(fileno=os.dup(opened.fileno())) as same:
                    same.shutdown(socket.SHUT_RDWR)

    async def _close(self) -> None:
        with contextlib.suppress(Exception):
            if self._response is not None:
                self._response.close()
        if self._owns_client:
            self._client.close()
            with contextlib.suppress(Exception):
                if self._connected is not None:
                    self._connected.close()
