"""The parts of a request over a WebSocket that are not in its handshake."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["BodyFraming", "MessageFraming", "WebSocketExchange", "WebSocketSettings"]

BodyFraming: TypeAlias = Literal["sse", "ndjson", "text"]
"""How messages become a body: each an SSE event, each a line, or all joined."""

MessageFraming: TypeAlias = Literal["auto", "sse", "ndjson"]
"""The form of the messages: frames, or pieces of a body in SSE or NDJSON. `auto`: the first decides."""


class WebSocketSettings(NamedTuple):
    """The configuration of a connection.

    Attributes:
        subprotocols: the subprotocols to offer in the handshake.
        ping: the seconds between pings of the gateway; None: it sends no pings.
        framing: the framing of the messages.
        keep: the seconds for which a connection stays open after a stream; None: it is closed.
        most_kept: the most connections to keep.
        event_bytes: the most bytes of one message.
        stream_bytes: the most bytes of all messages of a stream.
    """

    subprotocols: tuple[str, ...] = ()
    ping: float | None = 20.0
    framing: MessageFraming = "auto"
    keep: float | None = None
    most_kept: int = 10_000
    event_bytes: int = 8 << 20
    stream_bytes: int = 256 << 20


class WebSocketExchange(NamedTuple):
    """The messages of one request, and the form of the answer.

    Attributes:
        hello: messages that are sent on a new connection before the request.
        cancel: the message to send before a Close frame that ends a run early; None: no message is sent.
        framing: the framing of the body that the messages become.
        on_close: called with the code of the upstream's Close frame, while the stream is read.
        conversation: the key of the client and its thread; None: the connection is not kept.
    """

    hello: tuple[bytes, ...] = ()
    cancel: bytes | None = None
    framing: BodyFraming = "sse"
    on_close: Callable[[int], None] | None = None
    conversation: Hashable = None
