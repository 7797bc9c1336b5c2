"""Records the heads of requests and responses in the log of a stream.

The log keeps each head as a function without arguments. The function makes the fields of the line later, when
their secrets are masked, so that this work does not delay the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from starlette.types import Scope

from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.upstream.request import Origin, UpstreamRequest

__all__ = ["Head", "client_request", "client_response", "upstream_request", "upstream_response"]

Head: TypeAlias = Callable[[], dict[str, Any]]
"""Returns the fields of a line."""

_Pairs: TypeAlias = Iterable[tuple[bytes, bytes]]


def client_request(scope: Scope) -> Head:
    """Return the function that makes the fields of the head of a client's request."""
    path = scope.get("raw_path") or scope["path"].encode()
    return partial(
        _client_request, scope["method"], path, scope.get("query_string", b""), (*scope["headers"],)
    )


def upstream_request(attempt: AttemptRow, request: UpstreamRequest) -> Head:
    """Return the function that makes the head of a request to an upstream, and set the URL of the attempt."""
    parts = (request.method, request.origin, request.target, (*request.headers,), (*request.relayed,))
    return partial(_upstream_request, attempt, *parts)


def upstream_response(attempt: int, status: int, headers: _Pairs) -> Head:
    """Return the function that makes the head of an upstream's response."""
    return partial(_response, {"side": "upstream", "attempt": attempt, "status": status}, (*headers,))


def client_response(status: int, headers: _Pairs) -> Head:
    """Return the function that makes the head of the response to the client."""
    return partial(_response, {"side": "client", "status": status}, (*headers,))


def _client_request(method: str, path: bytes, query: bytes, headers: _Pairs) -> dict[str, Any]:
    target = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return {
        "side": "client",
        "method": method,
        "target": target.decode("latin-1"),
        "headers": _texts(headers),
    }


def _upstream_request(
    attempt: AttemptRow,
    method: str,
    origin: Origin,
    target: str,
    headers: Sequence[tuple[str, str]],
    relayed: _Pairs,
) -> dict[str, Any]:
    url = f"{origin.scheme}://{origin.netloc}{target}"
    attempt.url = url.partition("?")[0]
    own = [[name.lower(), value] for name, value in headers]
    return {
        "side": "upstream",
        "attempt": attempt.attempt,
        "method": method,
        "url": url,
        "headers": [*own, *_texts(relayed)],
    }


def _response(fields: dict[str, Any], headers: _Pairs) -> dict[str, Any]:
    return {**fields, "headers": _texts(headers)}


def _texts(headers: _Pairs) -> list[list[str]]:
    return [[name.decode("latin-1").lower(), value.decode("latin-1")] for name, value in headers]
