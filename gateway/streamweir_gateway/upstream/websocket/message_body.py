"""Writes the messages of a WebSocket as a body, which the reader of a dialect can cut into frames.

Source: the WebSocket contract, section 2 (reading).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

from streamweir.errors import MalformedEvent
from streamweir.framing.websocket import BINARY, WebSocketFrame
from streamweir.jsontext import parse_json, write_json
from streamweir_gateway.upstream.websocket.request import BodyFraming, MessageFraming

__all__ = ["MessageBody"]

_BEGINS_SSE: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_LINE_BREAK: Final = re.compile(rb"\r\n|\r|\n")
_UNREADABLE: Final = b'{"\xff'
"""Replaces a binary message that is not text. No dialect can read this, so it counts as malformed."""


class MessageBody:
    """Writes messages as a body. Empty messages are left out.

    Attributes:
        size: the bytes of all messages that have been written.
        framing: the framing of the body; settled once a part of the body has been written.

    Args:
        framing: the framing of the body, unless the messages are pieces of a body that has another one.
        messages: the form of the messages.
    """

    __slots__ = ("_is_joined", "framing", "size")

    def __init__(self, framing: BodyFraming, messages: MessageFraming) -> None:
        self.size = 0
        self.framing: BodyFraming = framing
        self._is_joined: bool | None = None
        """Whether the messages are pieces of one body. None: the first message, which decides, is missing."""
        if framing == "text":
            self._is_joined = True
        elif messages != "auto":
            self.framing, self._is_joined = messages, True

    def of(self, frames: Sequence[bytes | WebSocketFrame]) -> bytes:
        """Return the part of the body that the messages among `frames` make."""
        if self._is_joined is None and (first := next(filter(None, map(_data, frames)), b"")):
            self._is_joined = first.startswith(_BEGINS_SSE)
            if self._is_joined:
                self.framing = "sse"
        if {*map(type, frames)} <= {bytes}:
            messages = cast("Sequence[bytes]", frames)
        else:
            messages = [frame if isinstance(frame, bytes) else self._binary(frame) for frame in frames]
        if b"" in messages:
            messages = [message for message in messages if message]
        if not messages:
            return b""
        self.size += sum(map(len, messages))
        if self._is_joined:
            return b"".join(messages)
        return _as_events(messages) if self.framing == "sse" else _as_lines(messages)

    def _binary(self, frame: WebSocketFrame) -> bytes:
        """Return the text of a binary message; empty for a control frame."""
        data = _data(frame)
        if self._is_joined:
            return data  # a piece may end within a character
        try:
            data.decode()
        except UnicodeDecodeError:
            return _UNREADABLE
        return data


def _data(frame: bytes | WebSocketFrame) -> bytes:
    """Return the data of a message; empty for a control frame."""
    if isinstance(frame, bytes):
        return frame
    return frame.data if frame.opcode == BINARY else b""


def _as_events(messages: Sequence[bytes]) -> bytes:
    joined = b"\n\ndata: ".join(messages)
    if joined.count(b"\n") > 2 * (len(messages) - 1) or b"\r" in joined:
        joined = b"\n\ndata: ".join(_LINE_BREAK.sub(b"\ndata: ", message) for message in messages)
    return b"data: " + joined + b"\n\n"


def _as_lines(messages: Sequence[bytes]) -> bytes:
    joined = b"\n".join(messages)
    if joined.count(b"\n") > len(messages) - 1 or b"\r" in joined:
        joined = b"\n".join(map(_in_one_line, messages))
    return joined + b"\n"


def _in_one_line(message: bytes) -> bytes:
    """Return a message without line breaks: as compact JSON, if it is JSON."""
    if not _LINE_BREAK.search(message):
        return message
    try:
        return write_json(parse_json(message)[0])
    except MalformedEvent:
        return _LINE_BREAK.sub(b" ", message)
