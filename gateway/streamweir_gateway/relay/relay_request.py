"""Builds a request to an upstream from the client's request, with its method, target and headers unchanged.

Source: the configuration contract (`relay`); RFC 9110, section 7.6.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace
from starlette.types import Scope

from streamweir_gateway.config import EndpointConfig, UpstreamConfig, ip_of, is_loopback_host
from streamweir_gateway.connection.direct_exchange import DirectExchange
from streamweir_gateway.observability.trace_context import TraceContext, settled_trace_context
from streamweir_gateway.relay.forwarded import Forwarding, is_about_forwarding
from streamweir_gateway.runs.upstream_target import UpstreamTarget, with_query
from streamweir_gateway.upstream.hop_by_hop import HOP_BY_HOP, connection_options
from streamweir_gateway.upstream.http1 import request_head
from streamweir_gateway.upstream.request import (
    WITHOUT_BODY,
    HandshakeOffer,
    Headers,
    Origin,
    RequestStream,
    UpstreamRequest,
    authorization_in,
)

__all__ = ["RelayBody", "RelayRequestBuilder"]

_OURS: Final = HOP_BY_HOP | {
    *(b"host", b"content-length", b"expect", b"x-request-id", b"traceparent", b"tracestate"),
}
"""Headers that the gateway sets or handles itself. It asks for the body when it can forward it."""


_CONNECTION: Final = frozenset({b"connection"})


class RelayBody(NamedTuple):
    """The body of a client's request: the whole body, or its beginning and the reader of the rest."""

    data: bytes
    stream: RequestStream | None = None


class RelayRequestBuilder:
    """Writes the requests of one endpoint to one of its upstreams.

    Attributes:
        origin: the origin of the upstream.

    Args:
        endpoint: the configuration of the endpoint.
        upstream: the configuration of the upstream.
        base_url: the base URL of the upstream.
        forwarding: writes the headers that tell where a request comes from.
    """

    def __init__(
        self, endpoint: EndpointConfig, upstream: UpstreamConfig, base_url: str, forwarding: Forwarding
    ) -> None:
        self._target = UpstreamTarget(endpoint, base_url)
        self.origin = Origin.of(base_url)
        self._forwarding = forwarding
        self._keeps_host = is_plain_host(self.origin.host)
        configured = dict(upstream.headers)
        self._left_out = _OURS | {name.lower().encode("ascii") for name in configured}
        self._configured = list(configured.items())
        ours = UpstreamRequest("GET", self.origin, "/", self._configured, b"").wire_headers()
        self._first_lines = request_head("GET", b"/", ours).partition(b"\r\n")[2].removesuffix(b"\r\n")
        authorization = None if b"authorization" in self._left_out else authorization_in(base_url)
        self._authorization = None if authorization is None else authorization.encode("ascii")

    def request(self, scope: Scope, request_id: str, body: RelayBody) -> UpstreamRequest:
        """Return the upstream's request.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """
        has_mark = scope.get("raw_path", b"").endswith(b"?")
        query = scope["query_string"] or (b"" if has_mark else None)
        target = self.target(scope.get("path_params", {}), query)
        return UpstreamRequest(
            scope["method"],
            self.origin,
            target,
            self._configured,
            body.data,
            body.stream,
            self._headers(scope, request_id),
        )

    def handshake(self, scope: Scope, request_id: str, key: bytes) -> UpstreamRequest:
        """Return the handshake to the upstream, made from the client's handshake.

        Args:
            scope: the ASGI scope of the client's handshake.
            request_id: the id of the request.
            key: the `Sec-WebSocket-Key` of the handshake.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0] if hosts and self._keeps_host else None
        request = self.request(scope, request_id, RelayBody(b""))
        return replace(request, handshake=HandshakeOffer(key, host))

    def target(self, path_params: Mapping[str, str], query: bytes | None) -> str:
        """Return the upstream's path and query for a request.

        Args:
            path_params: the values of the names in the endpoint's path.
            query: the client's query; None: the client's target has no question mark.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """
        target = self._target.filled(path_params)
        if query == b"" and "?" not in target:
            return f"{target}?"
        return with_query(target, query.decode("latin-1")) if query else target

    @staticmethod
    def request_line(method: str, target: str) -> bytes:
        """Return the request line in the form in which it is sent.

        Raises:
            ValueError: the request line cannot be written.
        """
        line = f"{method} {target} HTTP/1.1\r\n".encode("ascii")
        if len(line.split()) != 3:
            raise ValueError("a request line that cannot be written")
        return line

    def head(self, asked: DirectExchange, line: bytes, request_id: str, trace: TraceContext) -> bytes:
        """Return the request line and the headers of a request in the form in which they are sent.

        Args:
            asked: the client's request, in HTTP/1.1.
            line: see `request_line`.
            request_id: the id of the request.
            trace: the trace that the request belongs to.

        Raises:
            ValueError: the head cannot be written.
        """
        added = f"X-Request-Id: {request_id}\r\n{trace.lines()}"
        if asked.body or asked.head.method not in WITHOUT_BODY:
            added = f"{added}Content-Length: {len(asked.body)}\r\n"
        return b"".join((line, self._lines(asked), added.encode("latin-1"), b"\r\n"))

    def _lines(self, asked: DirectExchange) -> bytes:
        """Return those headers to send that depend on the headers of the client's request only."""
        repeated = asked.head.repeated
        if repeated is not None and repeated.forwarded is not None and repeated.forwarded[0] is self:
            return repeated.forwarded[1]
        kept = self._kept(asked.head.headers, asked.fields)
        block = b"".join([b"%b: %b\r\n" % header for header in kept])
        if not block.count(b"\r") == block.count(b"\n") == len(kept):
            raise ValueError("headers that cannot be written")
        if self._authorization and not any(name == b"authorization" for name, _ in kept):
            block += b"Authorization: %b\r\n" % self._authorization
        lines = b"".join((self._first_lines, block, self._forwarding.lines(asked.client, asked.head.headers)))
        if repeated is not None:
            repeated.forwarded = self, lines
        return lines

    def _kept(self, given: Headers, fields: Container[bytes]) -> Headers:
        """Return the headers of a client's request that are forwarded."""
        left_out = self._left_out
        named = connection_options(given) if b"connection" in fields else frozenset()
        return [
            header
            for header in given
            if (name := header[0]) not in left_out
            and name not in named
            and not ((b"_" in name or b"forwarded" in name) and _is_ours(name))
        ]

    def _headers(self, scope: Scope, request_id: str) -> Headers:
        headers = self._kept(scope["headers"], _CONNECTION)
        if self._authorization and not any(name == b"authorization" for name, _ in headers):
            headers.append((b"Authorization", self._authorization))
        headers += self._forwarding.headers(scope)
        headers.append((b"X-Request-Id", request_id.encode("ascii")))
        for key, text in settled_trace_context(scope).headers():
            headers.append((key.encode("ascii"), text.encode("latin-1")))
        return headers


def is_plain_host(host: str) -> bool:
    """Return whether a host is an address, `localhost` or a name without a dot.

    A service under such a name compares the `Host` of a handshake with its `Origin`, so it gets the client's.
    """
    return ip_of(host) is not None or "." not in host or is_loopback_host(host)


def _is_ours(name: bytes) -> bool:
    """Return whether a header of this name could be taken for one that the gateway writes."""
    return is_about_forwarding(name) or name.replace(b"_", b"-") in _OURS
