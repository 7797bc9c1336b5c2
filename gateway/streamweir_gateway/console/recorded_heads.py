"""Records the heads of requests and responses in the log of a stream.

The log keeps each head as a tuple: its kind, then the parts of the request or response. `head_fields` makes
the fields of the line later, when their secrets are masked, so that this work does not delay the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from streamweir.capture.request_secrets import secrets_in
from streamweir_gateway.upstream.request import Origin, UpstreamRequest, headers_to_send
from streamweir_gateway.upstream.websocket.handshake import handshake_headers

__all__ = [
    "CLIENT_REQUEST",
    "CLIENT_RESPONSE",
    "UPSTREAM_HANDSHAKE",
    "UPSTREAM_REQUEST",
    "UPSTREAM_RESPONSE",
    "Head",
    "head_fields",
    "secrets_of_head",
]

Head: TypeAlias = Sequence[Any]
"""The kind of head, and its parts: texts, numbers, bytes, and pairs of these."""

_Pairs: TypeAlias = Iterable[tuple[bytes, bytes]]

CLIENT_REQUEST: Final = "client_request"
"""The kind of a client's request. Its parts: method, path, query, headers."""
UPSTREAM_REQUEST: Final = "upstream_request"
"""The kind of a request to an upstream.

Its parts: attempt, method, origin, target, the gateway's headers, the client's headers that are relayed, the
bytes of the body (None if the body is sent in chunks).
"""
UPSTREAM_HANDSHAKE: Final = "upstream_handshake"
"""The kind of a request over a WebSocket.

Its parts: attempt, origin, target, the gateway's headers, the subprotocols that are offered.
"""
UPSTREAM_RESPONSE: Final = "upstream_response"
"""The kind of an upstream's response. Its parts: attempt, status, headers."""
CLIENT_RESPONSE: Final = "client_response"
"""The kind of the response to the client. Its parts: status, headers."""


_OF_A_SWITCH: Final = frozenset({"upgrade", "sec-websocket-accept"})
"""Headers of a valid response to a handshake. The transport gives the body behind it as one of status 200."""


def head_fields(head: Head) -> dict[str, Any]:
    """Return the fields of the line of a head."""
    kind, *parts = head
    return _FIELDS[kind](*parts)


def secrets_of_head(fields: Mapping[str, Any]) -> set[str]:
    """Return the secrets in the fields of the line of a head."""
    return secrets_in(fields["headers"], fields.get("target") or fields.get("url", ""))


def _client_request(method: str, path: bytes, query: bytes, headers: _Pairs) -> dict[str, Any]:
    target = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return {
        "side": "client",
        "method": method,
        "target": target.decode("latin-1"),
        "headers": _texts(headers),
    }


def _upstream_request(
    attempt: int,
    method: str,
    origin: Sequence[Any],
    target: str,
    headers: Sequence[tuple[str, str]],
    relayed: _Pairs,
    length: int | None,
) -> dict[str, Any]:
    asked = Origin(*origin)
    return {
        "side": "upstream",
        "attempt": attempt,
        "method": method,
        "url": f"{asked.scheme}://{asked.netloc}{target}",
        "headers": _texts(headers_to_send(method, asked, headers, [*relayed], length)),
    }


def _upstream_handshake(
    attempt: int,
    origin: Sequence[Any],
    target: str,
    headers: Sequence[tuple[str, str]],
    subprotocols: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of a handshake. Its key is never shown, so it is left empty."""
    asked = Origin(*origin)
    request = UpstreamRequest("GET", asked, target, [*headers], b"")
    return {
        "side": "upstream",
        "attempt": attempt,
        "method": "GET",
        "url": f"{'wss' if asked.scheme == 'https' else 'ws'}://{asked.netloc}{target}",
        "headers": _texts(handshake_headers(request, b"", subprotocols)),
    }


def _upstream_response(attempt: int, status: int, headers: _Pairs) -> dict[str, Any]:
    texts = _texts(headers)
    if status == HTTPStatus.OK and {name for name, _ in texts} >= _OF_A_SWITCH:  # a WebSocket has been opened
        status = HTTPStatus.SWITCHING_PROTOCOLS.value
    return {"side": "upstream", "attempt": attempt, "status": status, "headers": texts}


def _client_response(status: int, headers: _Pairs) -> dict[str, Any]:
    return {"side": "client", "status": status, "headers": _texts(headers)}


def _texts(headers: _Pairs) -> list[list[str]]:
    return [[name.decode("latin-1").lower(), value.decode("latin-1")] for name, value in headers]


_FIELDS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = MappingProxyType(
    {
        CLIENT_REQUEST: _client_request,
        CLIENT_RESPONSE: _client_response,
        UPSTREAM_HANDSHAKE: _upstream_handshake,
        UPSTREAM_REQUEST: _upstream_request,
        UPSTREAM_RESPONSE: _upstream_response,
    }
)
