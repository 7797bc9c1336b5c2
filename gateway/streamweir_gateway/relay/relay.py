"""Relays a request to a whole service and the service's answer back, both unchanged.

An answer that turns out to be an agent stream is delivered by the run and delivery of any other endpoint.

Source: the configuration contract (`relay`); RFC 9110, section 7.6.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from starlette.types import Receive, Scope, Send

from streamweir.http.headers import settled_request_id
from streamweir.http.refusals import Refusal, send_failure, send_refusal
from streamweir_gateway.handshakes import TUNNEL, is_handshake
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.relay.forwarded import may_go_on
from streamweir_gateway.relay.relay_exchange import NoAnswer, RelayExchange
from streamweir_gateway.relay.request_start import RequestStart
from streamweir_gateway.relay.service import Service
from streamweir_gateway.relay.taskless_relay import request_start
from streamweir_gateway.relay.tunnel import Tunnel
from streamweir_gateway.runs.broken_off import BrokenOff
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["Relay"]


class Relay:
    """The ASGI endpoint of one path with `relay: all`.

    Attributes:
        first: the upstream that is asked first.

    Args:
        services: the upstreams, in the order in which they are asked.
        streams: keeps the exchanges under way.
        observer: gets a record of every request.
    """

    def __init__(self, services: Sequence[Service], *, streams: LiveStreams, observer: Observer) -> None:
        self._services = {service.destination: service for service in services}
        self.first = services[0]
        self._streams = streams
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request_id = settled_request_id(scope)
        start = request_start(scope)
        record = self._record(scope, request_id, start)
        tunnel: Tunnel | None = None
        try:
            tunnel = await self._serve(scope, receive, send, record, start)
        except Refusal as refusal:
            record.refused(refusal.code, scope["state"].get("client"))
            sent = await send_refusal(send, refusal, request_id=request_id)
            record.bytes_out = 0 if record.method == "HEAD" else sent
        except NoAnswer as failure:
            info, record.code = failure.info, failure.info.code
            record.status, record.reason = info.status, info.reason
            debug = self.first.endpoint.debug
            sent = await send_failure(send, info, request_id=request_id, debug=debug)
            record.bytes_out = 0 if record.method == "HEAD" else sent
        except ClientGone:
            record.reason = "client_gone"
        except BrokenOff:
            raise
        except Exception as error:
            record.failed(error)
            raise
        finally:
            if tunnel is None:
                self._observer.ended(record)
            else:
                self._follow(tunnel, scope, record)

    def _record(self, scope: Scope, request_id: str, start: RequestStart) -> RequestRecord:
        return RequestRecord(
            request_id,
            scope["method"],
            self.first.endpoint.config.template,
            self.first.destination.label,
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
            began=time.monotonic() - start.seconds,
        )

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, record: RequestRecord, start: RequestStart
    ) -> Tunnel | None:
        """Serve one request; return the tunnel if it was a handshake that the service has accepted."""
        if self._streams.draining and not start.is_sent:
            raise Refusal("GATEWAY_DRAINING", headers={"Connection": "close"})
        record.websocket = is_handshake(scope) or None
        if not may_go_on(scope):
            await self._answer_options(send, record)
            return None
        exchange = RelayExchange(
            self._services, scope, receive, send, record=record, observer=self._observer, start=start
        )
        if self._streams.make_recorder is not None:
            exchange.keep_body()
        self._streams.add(exchange.watch)
        try:
            opened = await exchange.run()
        finally:
            self._streams.discard(exchange.watch)
            exchange.close()
        if opened is not None:
            await opened.deliver(self._streams, receive)
        return exchange.tunnel

    def _follow(self, tunnel: Tunnel, scope: Scope, record: RequestRecord) -> None:
        """Let a drain end a tunnel, and report the request when the tunnel is closed."""
        self._streams.add(tunnel)
        tunnel.on_closed(partial(self._streams.discard, tunnel))
        tunnel.on_closed(partial(self._observer.ended, record))
        scope["state"][TUNNEL] = tunnel

    @staticmethod
    async def _answer_options(send: Send, record: RequestRecord) -> None:
        """Answer an OPTIONS request in place of the service, because its `Max-Forwards` is 0."""
        record.status, record.reason = 204, "done"
        headers = [(b"x-request-id", record.request_id.encode("ascii"))]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
