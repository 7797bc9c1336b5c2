"""Answers a relayed handshake that the service has accepted, and hands the connections over to a tunnel.

Source: the WebSocket contract, sections 1 (answer) and 3 (keys); RFC 6455, section 4.2.2.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from starlette.types import Scope

from streamweir.http.headers import REQUEST_ID
from streamweir.http.refusals import Refusal
from streamweir.http_grammar import WRITABLE_VALUE
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.handshakes import OFFERED
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.relay.service import Service
from streamweir_gateway.relay.tunnel import Tunnel, TunnelTimeouts
from streamweir_gateway.upstream.failures import InvalidResponse
from streamweir_gateway.upstream.hop_by_hop import end_to_end
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.transport import TransportResponse
from streamweir_gateway.upstream.websocket.relayed import RelayedSocket

__all__ = ["open_tunnel", "switching_head"]

_SWITCHING: Final = 101
_CLOSE: Final = {"Connection": "close"}
_FRAMING: Final = frozenset({b"content-length"})
_SUBPROTOCOL: Final = b"sec-websocket-protocol"


def open_tunnel(
    service: Service,
    response: TransportResponse,
    scope: Scope,
    connection: ClientConnection,
    record: RequestRecord,
) -> Tunnel:
    """Answer a handshake with the 101 of its service, and hand both connections over to a tunnel.

    Args:
        service: the service that was asked.
        response: the 101 of the service.
        scope: the ASGI scope of the handshake.
        connection: the connection of the client.
        record: the record of the request; the tunnel completes it.

    Raises:
        Refusal: the client has sent too much before the answer, or the server cannot hand it over.
        InvalidResponse: a header cannot be written.
    """
    socket = response.body
    assert isinstance(socket, RelayedSocket)
    head = switching_head(
        response.headers, record.request_id, offered_ours=scope["state"].get(OFFERED, False)
    )
    if connection.refused is not None:
        raise Refusal(connection.refused, headers=_CLOSE)
    tunnel = Tunnel(record, _timeouts(service, record))
    switched = connection.switch(head, tunnel.client)
    if switched is None:
        raise Refusal("WEBSOCKET_UNSUPPORTED", headers=_CLOSE)
    transport, rest = socket.detach()
    transport.set_protocol(tunnel.service)
    tunnel.client.attach(switched[0])
    tunnel.service.attach(transport)
    record.status = _SWITCHING
    tunnel.begin(switched[1], rest)
    return tunnel


def _timeouts(service: Service, record: RequestRecord) -> TunnelTimeouts:
    """Return the clocks after the 101. `idle` is off unless the configuration file sets it."""
    timeouts = service.destination.config.timeouts
    idle = timeouts.idle if "idle" in timeouts.model_fields_set else None
    elapsed = time.monotonic() - record.began
    now = asyncio.get_running_loop().time()
    total = None if timeouts.total is None else now + timeouts.total - elapsed
    return TunnelTimeouts(idle, total, timeouts.write)


def switching_head(headers: Headers, request_id: str, *, offered_ours: bool) -> bytes:
    """Return the head of the 101.

    Args:
        headers: the headers of the 101 of the service.
        request_id: the id of the request.
        offered_ours: whether the client offered a subprotocol of the gateway. It is chosen if the service
            chose no subprotocol, because browsers fail without a choice.

    Raises:
        InvalidResponse: a header cannot be written.
    """
    kept = [pair for pair in end_to_end(headers, without=_FRAMING) if pair[0].lower() != REQUEST_ID]
    if not all(WRITABLE_VALUE.fullmatch(value) for _, value in kept):
        raise InvalidResponse("a header with control characters")
    if offered_ours and not any(name.lower() == _SUBPROTOCOL for name, _ in kept):
        kept.append((b"Sec-WebSocket-Protocol", b"streamweir"))
    lines = [b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade"]
    lines += [b"%b: %b" % pair for pair in kept]
    lines.append(b"X-Request-Id: %b" % request_id.encode("ascii"))
    return b"\r\n".join(lines) + b"\r\n\r\n"
