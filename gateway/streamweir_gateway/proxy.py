"""One request: the client's body to the upstream, its stream through a translator to the client.

A plain ASGI endpoint. Every way out leaves a valid stream or an HTTP status with an envelope; where the
client has left, nothing.
"""

from __future__ import annotations

import logging
import time

import anyio
from starlette.types import Receive, Scope, Send

from streamweir import Translator
from streamweir.asgi.claim import take_claim
from streamweir.asgi.headers import header_values, settled_request_id, stream_headers
from streamweir.asgi.refusals import REFUSALS, Refusal, send_refusal
from streamweir.errors import ErrorInfo
from streamweir_gateway.endpoint import Endpoint
from streamweir_gateway.failures import UpstreamFailure
from streamweir_gateway.judging import judge
from streamweir_gateway.observability.logs import RequestLog, RequestRecord
from streamweir_gateway.outgoing import NoSuchPath
from streamweir_gateway.response import ClientGone, Connection, ResponseWriter
from streamweir_gateway.supervision import Streams, Supervisor
from streamweir_gateway.upstream import UpstreamClient, UpstreamRequest

__all__ = ["Proxy"]

logger = logging.getLogger("streamweir.gateway")


class Proxy:
    """The ASGI endpoint of one path."""

    def __init__(
        self, endpoint: Endpoint, *, client: UpstreamClient, streams: Streams, log: RequestLog
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._streams = streams
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        began = time.monotonic()
        request_id = settled_request_id(scope)
        config = self._endpoint.config
        record = RequestRecord(
            request_id,
            scope["method"],
            config.template,
            config.upstreams[0].label,
            config.upstreams[0].speaks,
        )
        try:
            await self._serve(scope, receive, send, record)
        except Refusal as refusal:
            record.status, record.code = REFUSALS[refusal.code].status, refusal.code
            await send_refusal(send, refusal, request_id=request_id)
        except ClientGone:
            record.reason = "client_gone"
        except Exception:
            record.code = "INTERNAL"  # answered and logged further out
            record.status = record.status or REFUSALS["INTERNAL"].status
            raise
        finally:
            record.duration_ms = _milliseconds(began)
            record.write(self._log)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        if scope["method"] == "GET" and header_values(scope["headers"], b"last-event-id"):
            # An EventSource that reconnects after the end: only this status stops it.
            record.status = 204
            await _send_no_content(send, record.request_id)
            return
        self._check(scope)
        headers, query = scope["headers"], scope["query_string"]
        request = self._upstream_request(scope, record.request_id)
        translator = self._endpoint.translator(
            headers, query, request_id=record.request_id, target=request.target
        )
        body = await _read_body(scope, receive, self._endpoint.config.limits.request_bytes)
        exchange = _Exchange(
            self._endpoint, self._client, request._replace(body=body), translator, scope, send, record
        )
        take_claim(scope)  # what follows ends properly by itself
        self._streams.add(exchange.supervisor)
        try:
            await exchange.run(receive)
        finally:
            self._streams.discard(exchange.supervisor)

    def _check(self, scope: Scope) -> None:
        methods = self._endpoint.config.methods
        if scope["method"] not in methods:  # HEAD, which a router takes for a kind of GET
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(methods)})
        if self._streams.draining:
            raise Refusal("GATEWAY_DRAINING", headers={"Connection": "close"})

    def _upstream_request(self, scope: Scope, request_id: str) -> UpstreamRequest:
        """Return the upstream's request but for its body, which is read when nothing else is wrong."""
        try:
            return self._endpoint.outgoing.request(
                scope["method"],
                request_id=request_id,
                path_params=scope.get("path_params", {}),
                headers=scope["headers"],
                query=scope["query_string"],
            )
        except NoSuchPath as error:
            raise Refusal("ENDPOINT_NOT_FOUND") from error


class _Exchange:
    """One stream, from the request to the upstream to the last byte of the response."""

    def __init__(
        self,
        endpoint: Endpoint,
        client: UpstreamClient,
        request: UpstreamRequest,
        translator: Translator,
        scope: Scope,
        send: Send,
        record: RequestRecord,
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._request = request
        self._translator = translator
        self._record = record
        self._began = time.monotonic()
        self._failure: ErrorInfo | None = None
        self._connection = Connection.of(scope)
        self._credentials = endpoint.outgoing.passes_credentials(scope["headers"])
        self._writer = ResponseWriter(send, stream_headers(translator.media_type, translator.request_id))
        self.supervisor = Supervisor(
            translator=translator,
            writer=self._writer,
            connection=self._connection,
            timeouts=endpoint.config.upstreams[0].timeouts,
            heartbeat=endpoint.config.heartbeat,
        )

    async def run(self, receive: Receive) -> None:
        """Relay the stream to its end."""
        try:
            with self.supervisor.exchange:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self.supervisor.run, receive)
                    await self._relay()
                    tasks.cancel_scope.cancel()
        finally:
            self._tell()
        if self.supervisor.dropped == "slow_client":
            await self._cut_off(receive)

    async def _relay(self) -> None:
        try:
            await self._writer.finish(self._with_status(await self._whole_stream()))
        except ClientGone:
            self.supervisor.drop("client_gone")

    async def _whole_stream(self) -> bytes:
        """Send everything but the last piece, and return that."""
        try:
            with self.supervisor.upstream:
                return await self._pump()
        except UpstreamFailure as failure:
            logger.info("upstream failed", exc_info=True, extra={"request_id": self._record.request_id})
            return self._fail(failure.info)
        except ClientGone:
            raise
        except Exception:
            logger.exception("the exchange failed", extra={"request_id": self._record.request_id})
            return self._translator.fail("INTERNAL")
        return self._stopped()

    async def _pump(self) -> bytes:
        """Relay read by read until the stream is over; return the piece that ends it."""
        supervisor, translator = self.supervisor, self._translator
        async with self._client.open(
            self._request,
            connect_timeout=self._endpoint.config.upstreams[0].timeouts.connect,
            on_connected=supervisor.sent,
        ) as response:
            self._record.upstream_status = response.status
            failure = await judge(
                response,
                speaks=translator.speaks,
                client_credentials=self._credentials,
                debug=self._endpoint.debug,
            )
            if failure is not None:
                return self._fail(failure)
            if not self._writer.is_started:
                self._writer.headers.extend(self._endpoint.forwarded(response))
            while not supervisor.is_stopping():
                supervisor.reading()
                data = await response.read()
                if supervisor.is_stopping():
                    break
                out = translator.feed(data) if data else translator.close()
                if self._record.first_event_ms is None and translator.started:
                    self._record.first_event_ms = _milliseconds(self._began)
                if translator.ended:
                    return out
                supervisor.is_writing = True
                await self._writer.write(out)
                supervisor.is_writing = False
                if supervisor.dropped is not None:
                    # A flood never waits, neither for the upstream nor for a client that has left: the
                    # cancellation, which needs a task that waits, would come late or not at all.
                    raise ClientGone
        return self._stopped()

    def _fail(self, info: ErrorInfo) -> bytes:
        self._failure = info
        return self._translator.fail(info)

    def _stopped(self) -> bytes:
        """Return the end of a stream that the supervisor has stopped."""
        stop = self.supervisor.stop
        if isinstance(stop, ErrorInfo):
            return self._fail(stop)
        return self._translator.close()

    def _with_status(self, last: bytes) -> bytes:
        """Settle the status of a folded answer, which is sent as a whole."""
        if self._translator.framing != "json":
            return last
        self._writer.headers.append((b"content-length", b"%d" % len(last)))
        error = self._translator.error
        if error is not None and not self._translator.has_answer:
            own = self._failure is not None and self._failure.code == error.code
            self._writer.status = self._failure.status if own and self._failure else error.status
            if error.retry_after_ms is not None:
                seconds = -(-error.retry_after_ms // 1000)
                self._writer.headers.append((b"retry-after", b"%d" % seconds))
        return last

    async def _cut_off(self, receive: Receive) -> None:
        """Close the connection of a client that does not read, and wait until the server has seen it."""
        self._connection.abort()
        with anyio.move_on_after(1):
            while (await receive())["type"] != "http.disconnect":
                pass

    def _tell(self) -> None:
        """Complete the log's record."""
        record, translator = self._record, self._translator
        if not translator.ended:
            translator.cancel(self.supervisor.dropped or "cancelled")
        counts = translator.counts
        record.speaks, record.answers, record.framing = (
            translator.speaks,
            translator.answers,
            translator.framing,
        )
        record.status = self._writer.status if self._writer.is_started else None
        record.reason = self.supervisor.dropped or translator.reason
        record.code = translator.error.code if translator.error else None
        record.events, record.bytes_in, record.bytes_out = (
            counts["events"],
            counts["bytes_in"],
            self._writer.bytes,
        )


async def _read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the client's whole body.

    Raises:
        Refusal: it is larger than `limit`.
        ClientGone: it did not come whole.
    """
    if any(
        length.isdigit() and int(length[:20]) > limit
        for length in header_values(scope["headers"], b"content-length")
    ):
        raise Refusal("REQUEST_TOO_LARGE")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > limit:
            raise Refusal("REQUEST_TOO_LARGE")
        if not message.get("more_body", False):
            return bytes(body)


async def _send_no_content(send: Send, request_id: str) -> None:
    headers = [(b"x-request-id", request_id.encode("ascii"))]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _milliseconds(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 3)
