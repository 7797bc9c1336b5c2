"""The request to an upstream that is the client's own: its method, its target and its headers as they came.

Source: the configuration contract (`relay`); RFC 9110, section 7.6.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.types import Scope

from streamweir_gateway.config import EndpointConfig, UpstreamConfig
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.relay.forwarded import Forwarding, is_about_forwarding
from streamweir_gateway.runs.upstream_target import UpstreamTarget, with_query
from streamweir_gateway.upstream.end_to_end import HOP_BY_HOP, connection_options
from streamweir_gateway.upstream.request import (
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
"""What the gateway writes itself, or does: it asks for the body as soon as it can send it on."""


class RelayBody(NamedTuple):
    """The body of a client's request: all of it, or its beginning and what is still to come."""

    data: bytes
    stream: RequestStream | None = None


class RelayRequestBuilder:
    """Writes the requests of one endpoint to one of its upstreams.

    Args:
        endpoint: its configuration.
        upstream: likewise.
        base_url: of the upstream.
        forwarding: what is said of the client's side.
    """

    def __init__(
        self, endpoint: EndpointConfig, upstream: UpstreamConfig, base_url: str, forwarding: Forwarding
    ) -> None:
        self._target = UpstreamTarget(endpoint, base_url)
        self._origin = Origin.of(base_url)
        self._forwarding = forwarding
        configured = dict(upstream.headers)
        self._replaced = frozenset(name.lower().encode("ascii") for name in configured)
        self._configured = list(configured.items())
        authorization = authorization_in(base_url)
        self._authorization = None if authorization is None else authorization.encode("ascii")

    def request(self, scope: Scope, request_id: str, body: RelayBody) -> UpstreamRequest:
        """Return the upstream's request.

        Raises:
            NoSuchPath: what the client put into the path would lead somewhere else.
        """
        target = with_query(
            self._target.filled(scope.get("path_params", {})), scope["query_string"].decode("latin-1")
        )
        return UpstreamRequest(
            scope["method"],
            self._origin,
            target,
            self._configured,
            body.data,
            body.stream,
            self._headers(scope, request_id),
        )

    def _headers(self, scope: Scope, request_id: str) -> Headers:
        given: Headers = scope["headers"]
        named, replaced = connection_options(given), self._replaced
        headers: Headers = []
        for name, value in given:
            if name in _OURS or name in named or name in replaced:
                continue
            if (b"_" in name or b"forwarded" in name) and _is_ours(name):
                continue
            headers.append((name, value))
        if self._authorization and not any(name == b"authorization" for name, _ in headers):
            headers.append((b"Authorization", self._authorization))
        headers += self._forwarding.headers(scope)
        headers.append((b"X-Request-Id", request_id.encode("ascii")))
        for key, text in settled_trace_context(scope).headers():
            headers.append((key.encode("ascii"), text.encode("latin-1")))
        return headers


def _is_ours(name: bytes) -> bool:
    """Whether a header with such a name could be taken for one that the gateway writes."""
    return is_about_forwarding(name) or name.replace(b"_", b"-") in _OURS
