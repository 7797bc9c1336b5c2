"""Builds the request to the upstream from the client's request and the configuration of the endpoint.

Source: the configuration contract (`path`, `forward_headers`, `forward_query`, `headers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, TypeAlias
from urllib.parse import quote, unquote_plus

from streamweir import __version__
from streamweir.codec.dialects import Dialects
from streamweir.http.headers import HeaderList, header_values
from streamweir.redaction import is_secret_name
from streamweir_gateway.config import EndpointConfig, UpstreamConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.remembered_headers import Memo, memo_of
from streamweir_gateway.runs.upstream_target import UpstreamTarget, with_query
from streamweir_gateway.upstream.header_selection import request_selection
from streamweir_gateway.upstream.prepared_head import HeadTemplate
from streamweir_gateway.upstream.request import WITHOUT_BODY, Origin, UpstreamRequest, authorization_in
from streamweir_gateway.upstream.via import Via

__all__ = ["UpstreamRequestBuilder"]

ALWAYS: Final = ("content-type",)
"""Client headers that are always forwarded. The gateway itself sets the request id and the trace context."""

CREDENTIALS: Final = frozenset({"authorization", "cookie", "x-api-key", "api-key"})

_SETTLED: Final = frozenset({"traceparent", "tracestate"})

_PER_REQUEST: Final = frozenset({"x-request-id", *_SETTLED})
"""Headers that the gateway sets anew for each request."""

_ACCEPT: Final = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson, application/json;q=0.9",
    "lines": "text/plain, */*;q=0.5",
    "text": "text/plain, */*;q=0.5",
    "auto": "text/event-stream, application/x-ndjson;q=0.9, application/json;q=0.8",
}
_Headers: TypeAlias = dict[str, list[tuple[str, str]]]
"""The name and value of each header to send, by the name in lower case."""

_IDENTITY: Final[_Headers] = {"accept-encoding": [("Accept-Encoding", "identity")]}
_URL_CHARACTERS: Final = "!$%&'()*+,/:;=?@[]~"
_PARAMETER_CHARACTERS: Final = _URL_CHARACTERS.replace(";", "").replace("&", "")
"""The characters of a parameter that are sent unescaped. Not `;`: some servers end a parameter there."""


class UpstreamRequestBuilder:
    """Builds the requests of one endpoint to one of its upstreams.

    Args:
        endpoint: the configuration of the endpoint.
        upstream: the configuration of the upstream.
        base_url: the base URL of the upstream.
        dialects: the dialects by name.
        via: the value of the gateway in the `Via` header.
    """

    def __init__(
        self, endpoint: EndpointConfig, upstream: UpstreamConfig, base_url: str, dialects: Dialects, via: Via
    ) -> None:
        self._via = ("Via", via.value().decode("ascii"))
        self._target = UpstreamTarget(endpoint, base_url)
        self._origin = Origin.of(base_url)
        self._authorization = authorization_in(base_url)
        self._speaks: Final = None if upstream.speaks == "auto" else dialects.to_read(upstream.speaks)
        self._dialects = dialects.detectable if self._speaks is None else (self._speaks,)
        named = (name for name in endpoint.forward_headers if name.lower() not in _SETTLED)
        self._configured = {name.lower(): [(name, value)] for name, value in upstream.headers}
        self._selection = request_selection(
            (*ALWAYS, *named), ours=self._configured, sends_body_on=endpoint.request.kind == "passthrough"
        )
        self._query = frozenset(endpoint.forward_query)
        self._takes_query = endpoint.appends_rest
        self._ours = self._own_headers()

    def request(self, incoming: Incoming) -> UpstreamRequest:
        """Return the upstream's request, without its body.

        Raises:
            NoSuchPath: the client's path would lead out of the configured path.
        """
        method, headers = incoming.method, incoming.headers
        target = self._target.filled(incoming.path_params)
        if incoming.query:
            target = with_query(target, self._forwarded_query(incoming.query))
        own = [("X-Request-Id", incoming.request_id), *incoming.trace.headers()]
        memo = None if method in WITHOUT_BODY else memo_of(headers)
        template = None if memo is None else self._template(memo, method, target, headers)
        if template is not None:
            return template.request(own)
        return UpstreamRequest(method, self._origin, target, [*self._common(headers), *own], b"")

    def path(self, path_params: Mapping[str, str]) -> str:
        """Return the upstream's path, without a query.

        Raises:
            NoSuchPath: the value of a `{name}` is empty or would make a segment `.` or `..`.
        """
        return self._target.path or self._target.filled(path_params).partition("?")[0]

    @property
    def forwards_cookies(self) -> bool:
        """Whether the client's cookies are sent to the upstream."""
        return b"cookie" in self._selection.named and "cookie" not in self._configured

    def passes_credentials(self, headers: HeaderList) -> bool:
        """Return whether the upstream gets the client's own credentials, so that its 401 is passed on."""
        named = {name for name in CREDENTIALS if name.encode() in self._selection.named}
        passed = named - set(self._configured)
        return any(header_values(headers, name.encode()) for name in passed)

    @cached_property
    def adds_credentials(self) -> bool:
        """Return whether the configuration adds credentials, by the upstream's `headers` or in its URL."""
        return bool(self._authorization) or any(map(_is_credential, self._configured))

    @cached_property
    def constant_options(self) -> dict[str, dict[str, str]] | None:
        """Return the result of `options` if it is constant; None if it depends on the client's path."""
        template = self._target.template
        return None if "{" in template else self.options(template)

    def options(self, target: str) -> dict[str, dict[str, str]]:
        """Return the options of each dialect that the upstream's path in `target` sets."""
        path = target.partition("?")[0]
        found = {dialect.name: dict(dialect.options_for(path)) for dialect in self._dialects}
        return {name: options for name, options in found.items() if options}

    def _forwarded_query(self, query: bytes) -> str:
        if self._takes_query:
            return quote(query, safe=_URL_CHARACTERS)
        if not self._query:
            return ""
        pieces = (piece for piece in query.split(b"&") if self._goes_on(piece))
        return "&".join(quote(piece, safe=_PARAMETER_CHARACTERS) for piece in pieces)

    def _goes_on(self, piece: bytes) -> bool:
        name = piece.partition(b"=")[0].decode("latin-1")
        return unquote_plus(name) in self._query

    def _template(self, memo: Memo, method: str, target: str, headers: HeaderList) -> HeadTemplate | None:
        """Return the template kept in `memo` for a request with the same headers as the request before it."""
        key = self, method, target
        template: HeadTemplate | None = memo.get(key)
        if template is None:
            common = UpstreamRequest(method, self._origin, target, self._common(headers), b"")
            template = HeadTemplate.made_of(common)
            memo.put(key, template)
        return template

    def _common(self, headers: HeaderList) -> list[tuple[str, str]]:
        """Return the headers that do not depend on `VARYING`: own, forwarded and configured headers.

        A header replaces an earlier header of the same name.
        """
        client: _Headers = {}
        for key, value in self._selection.of(headers):
            name = key.decode("latin-1")
            client.setdefault(name, []).append((name, value.decode("latin-1")))
        chosen = {**self._ours, **client, **self._configured, **_IDENTITY}
        chosen["via"] = [*(("Via", value) for value in header_values(headers, b"via")), self._via]
        return [pair for name, pairs in chosen.items() if name not in _PER_REQUEST for pair in pairs]

    def _own_headers(self) -> _Headers:
        ours = {
            "user-agent": [("User-Agent", f"streamweir/{__version__}")],
            "accept": [("Accept", _ACCEPT[self._framing])],
        }
        if self._authorization:
            ours["authorization"] = [("Authorization", self._authorization)]
        return ours

    @cached_property
    def _framing(self) -> str:
        return "auto" if self._speaks is None else self._speaks.framing


def _is_credential(name: str) -> bool:
    return name in CREDENTIALS or name.endswith("-key") or is_secret_name(name)
