"""Records the heads of requests and responses in the log of a stream.

The log keeps each head as a tuple: its kind, then the parts of the request or response. `head_fields` makes
the fields of the line later, when their secrets are masked, so that this work does not delay the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from starlette.types import Scope

from streamweir_gateway.upstream.request import Origin, UpstreamRequest

__all__ = [
    "Head",
    "client_request",
    "client_response",
    "head_fields",
    "upstream_request",
    "upstream_response",
]

Head: TypeAlias = Sequence[Any]
"""The kind of head, and its parts: texts, numbers, bytes, and pairs of these."""

_Pairs: TypeAlias = Iterable[tuple[bytes, bytes]]


def client_request(scope: Scope) -> Head:
    """Return the head of a client's request."""
    path = scope.get("raw_path") or scope["path"].encode()
    return "client_request", scope["method"], path, scope.get("query_string", b""), (*scope["headers"],)


def upstream_request(attempt: int, request: UpstreamRequest) -> Head:
    """Return the head of a request to an upstream."""
    url = request.origin, request.target
    return "upstream_request", attempt, request.method, *url, (*request.headers,), (*request.relayed,)


def upstream_response(attempt: int, status: int, headers: _Pairs) -> Head:
    """Return the head of an upstream's response."""
    return "upstream_response", attempt, status, (*headers,)


def client_response(status: int, headers: _Pairs) -> Head:
    """Return the head of the response to the client."""
    return "client_response", status, (*headers,)


def head_fields(head: Head) -> dict[str, Any]:
    """Return the fields of the line of a head."""
    kind, *parts = head
    return _FIELDS[kind](*parts)


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
) -> dict[str, Any]:
    asked = Origin(*origin)
    own = [[name.lower(), value] for name, value in headers]
    return {
        "side": "upstream",
        "attempt": attempt,
        "method": method,
        "url": f"{asked.scheme}://{asked.netloc}{target}",
        "headers": [*own, *_texts(relayed)],
    }


def _upstream_response(attempt: int, status: int, headers: _Pairs) -> dict[str, Any]:
    return {"side": "upstream", "attempt": attempt, "status": status, "headers": _texts(headers)}


def _client_response(status: int, headers: _Pairs) -> dict[str, Any]:
    return {"side": "client", "status": status, "headers": _texts(headers)}


def _texts(headers: _Pairs) -> list[list[str]]:
    return [[name.decode("latin-1").lower(), value.decode("latin-1")] for name, value in headers]


_FIELDS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = MappingProxyType(
    {
        "client_request": _client_request,
        "client_response": _client_response,
        "upstream_request": _upstream_request,
        "upstream_response": _upstream_response,
    }
)
