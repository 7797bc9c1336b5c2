"""CORS: the pages of other origins that may call and may read responses.

Source: the Fetch standard, section 3.3 (CORS protocol); the configuration contract (`cors`). A key is a
header that a page sets itself, so it needs no credentials mode. Cookies belong to the services behind the
gateway; `credentials` allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from starlette.types import Scope

from streamweir.http.headers import HeaderList, Headers, header_value, header_values
from streamweir.http.refusals import Refusal
from streamweir.http_grammar import TOKEN
from streamweir_gateway.config import Cors

__all__ = ["CorsPolicy", "is_preflight", "speaks_of_cors"]

MAX_AGE_SECONDS: Final = 600
"""The seconds for which a browser may cache the answer to a preflight."""

_REQUEST_HEADERS: Final = (
    *("Accept", "Authorization", "Content-Type", "Last-Event-ID", "traceparent", "tracestate"),
    *("X-Api-Key", "X-Request-Id", "X-Streamweir-Protocol", "X-Streamweir-Run"),
)
"""Request headers that every allowed page may send."""

_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_EXPOSED: Final = (
    b"access-control-expose-headers",
    b"X-Request-Id, Retry-After, X-Streamweir-Run, Content-Location",
)
_CREDENTIALS: Final = (b"access-control-allow-credentials", b"true")
_VARY: Final = (b"vary", b"Origin")
_MOST_ASKED: Final = 64


def speaks_of_cors(response: HeaderList) -> bool:
    """Return whether a response has CORS headers."""
    return any(name.lower() == _ALLOW_ORIGIN for name, _ in response)


def is_preflight(scope: Scope) -> bool:
    """Return whether a request is a preflight. Other OPTIONS requests are ordinary requests."""
    if scope["method"] != "OPTIONS":
        return False
    names = {name for name, _ in scope["headers"]}
    return b"origin" in names and b"access-control-request-method" in names


class CorsPolicy:
    """Decides which pages may call, and makes the CORS headers of responses.

    Args:
        cors: the allowed origins, cookies and headers.
    """

    def __init__(self, cors: Cors) -> None:
        self._any = "*" in cors.origins
        self._origins = frozenset(origin.encode() for origin in cors.origins)
        self._credentials: Headers = [_CREDENTIALS] if cors.credentials else []
        self._listed = cors.headers

    def headers(self, request: HeaderList) -> Headers:
        """Return the headers for every response to `request`, refusals and errors included."""
        if self._any:
            return [(b"access-control-allow-origin", b"*"), _EXPOSED]
        origin = self._allowed_origin(request)
        if origin is None:
            return [_VARY]
        return [(b"access-control-allow-origin", origin), *self._credentials, _EXPOSED, _VARY]

    def lets_in(self, request: HeaderList) -> bool:
        """Return whether the page that sent `request` may call the gateway."""
        return self._any or self._allowed_origin(request) is not None

    def preflight(self, request: HeaderList, methods: Sequence[str]) -> Headers:
        """Return the additional headers of the answer to a preflight.

        Args:
            request: the headers of the preflight.
            methods: the methods of the path; empty if the path does not exist.

        Raises:
            Refusal: the request that the preflight announces is not allowed.
        """
        if not self.lets_in(request):
            raise Refusal("BAD_REQUEST", "Pages of this origin may not call here.")
        if not methods:
            raise Refusal("ENDPOINT_NOT_FOUND")
        if header_value(request, b"access-control-request-method") not in methods:
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(methods)})
        asked = _asked_headers(request)
        names = _with_usual(self._listed or asked)
        return [
            (b"access-control-allow-methods", ", ".join(methods).encode("ascii")),
            (b"access-control-allow-headers", ", ".join(names).encode("ascii")),
            (b"access-control-max-age", b"%d" % MAX_AGE_SECONDS),
        ]

    def _allowed_origin(self, request: HeaderList) -> bytes | None:
        given = [value for name, value in request if name == b"origin"]
        return given[0] if len(given) == 1 and given[0] in self._origins else None


def _asked_headers(request: HeaderList) -> list[str]:
    """Return the names of headers that a page wants to send.

    Raises:
        Refusal: the names are invalid, or there are too many.
    """
    lines = header_values(request, b"access-control-request-headers")
    names = [name for line in lines for entry in line.split(",", _MOST_ASKED) if (name := entry.strip(" \t"))]
    if len(names) > _MOST_ASKED or not all(map(TOKEN.fullmatch, names)):
        raise Refusal("BAD_REQUEST")
    return names


def _with_usual(asked: Iterable[str]) -> list[str]:
    usual = {name.lower() for name in _REQUEST_HEADERS}
    return [*_REQUEST_HEADERS, *dict.fromkeys(name for name in asked if name.lower() not in usual)]
