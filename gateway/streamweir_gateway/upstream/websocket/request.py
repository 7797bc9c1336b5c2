"""The parts of a request over a WebSocket that are not in its handshake."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["BodyFraming", "MessageFraming", "WebSocketExchange", "WebSocketSettings"]

BodyFraming: TypeAlias = Literal["sse", "ndjson", "text"]
"""How messages become a body: each one an SSE event, each one a line, or all of them joined."""

MessageFraming: TypeAlias = Literal["auto", "sse", "ndjson"]
"""The form of the messages: frames, or pieces of a body in SSE or NDJSON. `auto`: the first one decides."""


class WebSocketSettings(NamedTuple):
    """The configuration of a connection.

    Attributes:
        subprotocols: offered in the handshake.
        ping: seconds between pings of the gateway; None: it sends none.
        framing: the framing of the messages.
        keep: seconds for which a connection stays open behind a stream; None: it is closed.
        most_kept: the most connections that are kept.
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
    """The messages of one request, and the form of its answer.

    Attributes:
        hello: messages that are sent on a new connection before the request.
        cancel: the message that is sent before a Close frame that ends a run early; None: there is none.
        framing: the framing of the body that the messages become.
        on_close: called with the code of the upstream's Close frame, while the stream is read.
        conversation: the key of the client and its thread; None: the connection is not kept.
    """

    hello: tuple[bytes, ...] = ()
    cancel: bytes | None = None
    framing: BodyFraming = "sse"
    on_close: Callable[[int], None] | None = None
    conversation: Hashable = None
