"""The messages of a request to an upstream that speaks over a WebSocket.

Source: the WebSocket contract, section 2; the request contract, section 6 (trees).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from streamweir.codec.dialects import Dialects
from streamweir.jsontext import write_json
from streamweir.optional_json import json_object
from streamweir.requests.canonical import Request
from streamweir.requests.templates import Tree, compile_tree
from streamweir_gateway.config import EndpointConfig, UpstreamConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.template_names import TemplateNames, found_sound
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.websocket.request import BodyFraming, WebSocketExchange, WebSocketSettings

__all__ = ["SocketMessages", "websocket_settings"]

_AUTO: Final = "auto"


def websocket_settings(endpoint: EndpointConfig, upstream: UpstreamConfig) -> WebSocketSettings | None:
    """Return the settings of connections to an upstream; None if the upstream speaks HTTP."""
    if not upstream.is_websocket:
        return None
    config = upstream.websocket
    return WebSocketSettings(
        subprotocols=config.subprotocols,
        ping=config.ping,
        framing=config.framing,
        keep=config.keep,
        most_kept=0 if endpoint.threads is None else endpoint.threads.max,
        event_bytes=endpoint.limits.event_bytes,
        stream_bytes=endpoint.limits.stream_bytes,
    )


class SocketMessages:
    """Writes the messages of an endpoint's requests to one of its upstreams.

    Args:
        endpoint: the configuration of the endpoint.
        upstream: the configuration of the upstream.
        dialects: the dialects by name.
    """

    def __init__(self, endpoint: EndpointConfig, upstream: UpstreamConfig, dialects: Dialects) -> None:
        config = upstream.websocket
        self._hello = [compile_tree(tree, found_sound) for tree in config.hello]
        self._cancel = None if config.cancel is None else compile_tree(config.cancel, found_sound)
        self._is_kept = config.keep is not None
        self._speaks: Final = None if upstream.speaks == _AUTO else dialects.to_read(upstream.speaks)
        configured = {name.lower() for name, _ in upstream.headers}
        self._names = TemplateNames(endpoint.forward_headers, configured, dialects)

    def added_to(
        self,
        request: UpstreamRequest,
        incoming: Incoming,
        data: bytes,
        offer: Offer,
        on_close: Callable[[int], None],
    ) -> UpstreamRequest:
        """Return a request with the messages to send on the WebSocket.

        Args:
            request: the whole request to the upstream.
            incoming: the client's request.
            data: the body of the client's request.
            offer: the request of the attempt.
            on_close: called with the code of the upstream's Close frame.

        Raises:
            RequestError: the client sent more data than trees may read for one request.
        """
        written = offer.written[-1].body if offer.written else None
        if isinstance(written, str):
            request = replace(request, body=written.encode("utf-8", "replace"))
        root: Mapping[str, Any] = {}
        if self._is_kept or self._hello or self._cancel:
            root = self._root(incoming, data)
        hello = (_message(tree, root) for tree in self._hello)
        exchange = WebSocketExchange(
            hello=tuple(message for message in hello if message),
            cancel=None if self._cancel is None else _message(self._cancel, root),
            framing=self._framing(incoming),
            on_close=on_close,
            conversation=self._conversation(incoming, root),
        )
        return replace(request, exchange=exchange)

    def _framing(self, incoming: Incoming) -> BodyFraming:
        """Return the framing of the body: that of the client, if the client may get the frames unchanged."""
        dialect = self._speaks
        if dialect is not None and dialect.framing == "text":
            return "text"
        reads_frames = dialect is not None and incoming.answers == dialect.name
        return "ndjson" if reads_frames and incoming.framing in ("ndjson", "lines") else "sse"

    def _conversation(self, incoming: Incoming, root: Mapping[str, Any]) -> tuple[str | None, str] | None:
        request: Request | None = root.get("request") if self._is_kept else None
        thread = None if request is None else request.get("thread_id")
        return (incoming.key, thread) if thread else None

    def _root(self, incoming: Incoming, data: bytes) -> Mapping[str, Any]:
        """Return the names for trees. A body that is not an object has no canonical request."""
        body = json_object(data)
        is_unread = body is None and bool(data)
        request = None if is_unread else self._names.canonical(body, incoming)
        return self._names.root(body, incoming, request)


def _message(tree: Tree, root: Mapping[str, Any]) -> bytes:
    """Return the message that a tree makes: a string unquoted, null as no bytes, other values as JSON."""
    value = tree.value(root)
    if value is None:
        return b""
    return value.encode("utf-8", "replace") if isinstance(value, str) else write_json(value)
