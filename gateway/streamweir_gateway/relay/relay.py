"""One request to a whole service: the client's as it came, and the service's answer as it came.

A plain ASGI endpoint. What turns out to be an agent stream is handed to the same run and delivery as at any
other endpoint.

Source: the configuration contract (`relay`); RFC 9110, section 7.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Receive, Scope, Send

from streamweir.asgi.headers import settled_request_id
from streamweir.asgi.refusals import Refusal, send_failure, send_refusal
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.relay.relay_exchange import BrokenOff, NoAnswer, RelayExchange
from streamweir_gateway.relay.service import Service
from streamweir_gateway.runs.response_writer import ClientGone
from streamweir_gateway.runs.streams import Streams

__all__ = ["Relay"]


class Relay:
    """The ASGI endpoint of one path with `relay: all`.

    Args:
        services: the upstreams, in the order in which they are asked.
        streams: where exchanges under way are kept.
        observer: gets a record of every request.
    """

    def __init__(self, services: Sequence[Service], *, streams: Streams, observer: Observer) -> None:
        self._services = {service.destination: service for service in services}
        self._first = services[0]
        self._streams = streams
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request_id = settled_request_id(scope)
        record = RequestRecord(
            request_id,
            scope["method"],
            self._first.endpoint.config.template,
            self._first.destination.label,
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        try:
            await self._serve(scope, receive, send, record)
        except Refusal as refusal:
            record.refused(refusal.code, scope["state"].get("client"))
            await send_refusal(send, refusal, request_id=request_id)
        except NoAnswer as failure:
            info, record.code = failure.info, failure.info.code
            record.status, record.reason = info.status, info.reason
            await send_failure(send, info, request_id=request_id, debug=self._first.endpoint.debug)
        except ClientGone:
            record.reason = "client_gone"
        except BrokenOff:
            raise
        except Exception as error:
            record.failed(error)
            raise
        finally:
            self._observer.ended(record)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        if self._streams.draining:
            raise Refusal("GATEWAY_DRAINING", headers={"Connection": "close"})
        if any(name == b"sec-websocket-key" for name, _ in scope["headers"]):
            raise Refusal("WEBSOCKET_UNSUPPORTED")
        exchange = RelayExchange(self._services, scope, receive, send, record=record, observer=self._observer)
        self._streams.add(exchange.watch)
        try:
            opened = await exchange.run()
        finally:
            self._streams.discard(exchange.watch)
            exchange.watch.close()
        if opened is not None:
            await opened.deliver(self._streams, receive)
