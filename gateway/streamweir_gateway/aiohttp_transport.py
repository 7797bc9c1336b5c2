"""One HTTP/1.1 request over aiohttp: one chunk per socket read, own exceptions, nothing remembered.

What httpx-aiohttp would do differently: an unlimited pool stays unlimited, malformed HTTP and refused
connections are told apart, targets are sent as they are written, truncated bodies are named so, and a body's
last bytes are not lost when the connection breaks right behind them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import multidict
import yarl

from streamweir.content_coding import BodyDecoder, CodedBodyError, CutOffBodyError, body_decoder

from .failures import ConnectTimedOut, InvalidResponse, Truncated, Unreachable, UpstreamFailure

__all__ = ["AiohttpBody", "AiohttpSession"]

READ_BUFFER: Final = 64 << 10
"""Per connection; twice as much may wait unread before the upstream is slowed down."""

KEEP_ALIVE_SECONDS: Final = 4.0
"""Below the 5 s of the usual servers: a POST that meets their closing could not be repeated."""

HEADER_BYTES: Final = 32 << 10

_WRITTEN_BY_US: Final = frozenset({b"host", b"content-length"})  # aiohttp counts and writes them itself


class AiohttpBody:
    """A response whose body is read socket read by socket read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers = response.raw_headers
        self._response = response
        self._is_begun = False
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._failure: UpstreamFailure | None = None

    async def read(self) -> bytes:
        """Return the next bytes of the body, as they came; nothing at its end.

        Raises:
            Truncated, InvalidResponse: the body is not whole, or cannot be decoded.
        """
        try:
            if not self._is_begun:
                self._is_begun = True
                codings = self._response.headers.getall("Content-Encoding", ())
                self._decoder = body_decoder(", ".join(codings))
            if self._decoder is not None:
                return await self._read_decoded(self._decoder)
        except CutOffBodyError as error:
            raise Truncated("the compressed body ended early") from error
        except CodedBodyError as error:
            raise InvalidResponse("the compressed body cannot be decoded") from error
        return await self._read_socket()

    async def _read_decoded(self, decoder: BodyDecoder) -> bytes:
        while True:
            for piece in self._pieces:
                return piece
            data = await self._read_socket()
            if not data:
                decoder.finish()
                return b""
            self._pieces = decoder.feed(data)

    async def _read_socket(self) -> bytes:
        if self._failure is not None:
            raise self._failure
        content = self._response.content
        try:
            return await content.readany()
        except (aiohttp.ClientError, OSError) as error:
            failure = _failure_of_body(error)
            if rest := _unread(content):
                self._failure = failure
                return rest
            raise failure from error

    def close(self) -> None:
        """Give the connection back if the body was read to its end, else close it at once."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


def _unread(content: aiohttp.StreamReader) -> bytes:
    """Take what arrived before the connection broke.

    aiohttp reports the break first and then never hands out what it had received. Bytes that were on time
    may hold the end of the stream, so they are taken from where it keeps them.
    """
    buffer = getattr(content, "_buffer", None)
    if not buffer:
        return b""
    rest = b"".join(buffer)[getattr(content, "_buffer_offset", 0) :]
    buffer.clear()
    return rest


class AiohttpSession:
    """The connections to all upstreams; it opens itself with the first request, in the running loop."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None,
    ) -> AiohttpBody:
        """Send a request and return its response, whose body is still to be read.

        Raises:
            ConnectTimedOut, Unreachable, InvalidResponse: there is none.
        """
        if self._session is None or self._session.closed:
            self._session = _open_session()
        try:
            response = await self._session.request(
                method,
                yarl.URL(url, encoded=True),
                headers=_text_headers(headers),
                data=io.BytesIO(body) if body else None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(connect=connect_timeout, ceil_threshold=3600),
                trace_request_ctx=on_connected,
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _failure_of_request(error) from error
        return AiohttpBody(response)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()


class _Response(aiohttp.ClientResponse):
    """A response whose connection is gone at once when nobody waits for it any longer.

    aiohttp closes it gently: an upstream that does not read the request would keep it open.
    """

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        """Wait for the headers."""
        transport = connection.transport
        try:
            return await super().start(connection)
        except BaseException:
            if transport is not None:
                transport.abort()
            raise


def _open_session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=0, limit_per_host=0, keepalive_timeout=KEEP_ALIVE_SECONDS, enable_cleanup_closed=False
    )
    session = aiohttp.ClientSession(
        connector=connector,
        response_class=_Response,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        trace_configs=[_tell_when_connected()],
        read_bufsize=READ_BUFFER,
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
    )
    # A GET whose connection breaks would silently be sent again: an agent would run twice.
    session._retry_connection = False
    return session


def _tell_when_connected() -> aiohttp.TraceConfig:
    """Call `trace_request_ctx` when the connection stands, which is when the request is sent."""

    async def tell(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx()

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(tell)
    trace.on_connection_reuseconn.append(tell)
    return trace


def _text_headers(headers: Iterable[tuple[bytes, bytes]]) -> multidict.CIMultiDict[str]:
    """aiohttp writes headers as UTF-8; what came in as anything else is Latin-1."""
    return multidict.CIMultiDict(
        (name.decode("ascii"), _text(value)) for name, value in headers if name.lower() not in _WRITTEN_BY_US
    )


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _failure_of_request(error: Exception) -> UpstreamFailure:
    match error:
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return ConnectTimedOut("the connection did not stand in time")
        case aiohttp.ClientResponseError():
            return InvalidResponse("the answer is not HTTP")
    return Unreachable("no response")


def _failure_of_body(error: Exception) -> UpstreamFailure:
    if isinstance(error, aiohttp.ClientPayloadError) and _is_malformed(error.__cause__):
        return InvalidResponse("the body's framing is not HTTP")
    return Truncated("the body broke off")


def _is_malformed(cause: BaseException | None) -> bool:
    """Is it the chunks' own syntax that is wrong, rather than their end that is missing?"""
    from_parser = isinstance(cause, aiohttp.http_exceptions.BadHttpMessage)
    at_the_end = isinstance(
        cause, aiohttp.http_exceptions.TransferEncodingError | aiohttp.http_exceptions.ContentLengthError
    )
    return from_parser and not at_the_end
