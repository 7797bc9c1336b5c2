"""Reads the messages of a WebSocket server from bytes, and writes the frames of a client.

    state      entered by                          a data frame            a control frame
    ────────   ─────────────────────────────────   ─────────────────────   ───────────────────────
    idle       construction, the end of a message  begins a message        is returned
    partial    a data frame without FIN            continues the message   is returned
    closed     a Close frame, or a failure         is dropped              is dropped

Source: RFC 6455, sections 5 and 7.4. No extension is supported, so that every reserved bit is an error.
"""

from __future__ import annotations

import os
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = [
    "BINARY",
    "CLOSE",
    "MESSAGE_TOO_BIG",
    "PING",
    "PONG",
    "PROTOCOL_ERROR",
    "TEXT",
    "WebSocketFailure",
    "WebSocketFrame",
    "WebSocketReader",
    "client_frame",
    "close_frame",
]

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

_CONTINUATION: Final = 0
_DATA: Final = frozenset({_CONTINUATION, TEXT, BINARY})
_CONTROL: Final = frozenset({CLOSE, PING, PONG})

_FIN: Final = 0x80
_RESERVED: Final = 0x70
_OPCODE: Final = 0x0F
_MASK: Final = 0x80
_LENGTH: Final = 0x7F
_WHOLE_TEXT: Final = _FIN | TEXT
_LENGTH_OF_2: Final = 126
_LENGTH_OF_8: Final = 127
_LONGEST_CONTROL: Final = 125

PROTOCOL_ERROR: Final = 1002
MESSAGE_TOO_BIG: Final = 1009

_REGISTERED: Final = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015)})
_PRIVATE: Final = range(3000, 5000)

FailureCode: TypeAlias = Literal[1002, 1009]


class WebSocketFrame(NamedTuple):
    """A binary message, or a control frame.

    Attributes:
        opcode: `BINARY`, `CLOSE`, `PING` or `PONG`.
        data: the payload. The first two bytes of a Close frame are its code, if it has one.
    """

    opcode: int
    data: bytes

    @property
    def close_code(self) -> int:
        """The code of a Close frame; 1005 if it has none."""
        return int.from_bytes(self.data[:2]) if self.data else 1005


class WebSocketFailure(NamedTuple):
    """The reason why the bytes of a server are not read further."""

    code: FailureCode
    message: str


class _Header(NamedTuple):
    """The fields of a checked header that are needed after the check."""

    opcode: int
    is_final: bool
    begins: int
    """The index at which the payload begins."""
    ends: int


class WebSocketReader:
    """Reads the frames of a server. The module's docstring has a table of the states.

    Attributes:
        failure: set when a frame is invalid or too large; every later byte is dropped.
        is_closed: a Close frame has come, or `failure` is set.

    Args:
        limit: the most bytes of one message, all its fragments together.
    """

    __slots__ = ("_fragments", "_kind", "_limit", "_needed", "_pieces", "failure", "is_closed")

    def __init__(self, limit: int) -> None:
        self.failure: WebSocketFailure | None = None
        self.is_closed = False
        self._limit = limit
        self._pieces: list[bytes] = []
        """The bytes of a frame that is not complete."""
        self._needed = 0
        """The number of bytes that must have arrived before the frame is parsed again; this keeps a large
        frame linear.
        """
        self._kind = 0
        """The opcode of the message whose fragments are arriving; 0 in the state `idle`."""
        self._fragments = bytearray()
        """The fragments of the message, joined. Each short fragment alone takes many times its bytes."""

    def feed(self, data: bytes) -> list[bytes | WebSocketFrame]:
        """Return the messages and control frames that `data` completes, in order.

        A text message is returned as plain bytes, because text messages are the most frequent ones.
        """
        if self.is_closed:
            return []
        if self._pieces:
            self._pieces.append(data)
            self._needed -= len(data)
            if self._needed > 0:
                return []
            data = b"".join(self._pieces)
            self._pieces.clear()
        frames: list[bytes | WebSocketFrame] = []
        position = self._read(data, frames)
        if not self.is_closed and position < len(data):
            self._pieces.append(data[position:])
        return frames

    def _read(self, data: bytes, frames: list[bytes | WebSocketFrame]) -> int:
        """Read whole frames into `frames`; return the index after the last one."""
        position, end = 0, len(data)
        longest, append = min(self._limit, _LONGEST_CONTROL), frames.append
        whole, last = _WHOLE_TEXT, end - 2
        while position <= last:
            if not self._kind:  # a run of short texts, which needs no call for each
                while position <= last and data[position] == whole:
                    begin = position + 2
                    stop = begin + data[position + 1]
                    if stop > end or stop - begin > longest:
                        break
                    append(data[begin:stop])
                    position = stop
                if position > last:
                    break
            header = self._header(data, position)
            if header is None:
                return position
            if header.ends > end:
                self._needed = header.ends - end
                return position
            self._take(header, data, frames)
            if self.is_closed:
                return end
            position = header.ends
        self._needed = 2 - (end - position)
        return position

    def _header(self, data: bytes, position: int) -> _Header | None:
        """Return the header at `position`; None if it is incomplete or invalid."""
        first, second = data[position], data[position + 1]
        opcode, length = first & _OPCODE, second & _LENGTH
        if fault := self._fault_of(first, second):
            self._fail(PROTOCOL_ERROR, fault)
            return None
        begins = position + 2 + {_LENGTH_OF_2: 2, _LENGTH_OF_8: 8}.get(length, 0)
        if begins > len(data):
            self._needed = begins - len(data)
            return None
        if begins > position + 2:
            length = int.from_bytes(data[position + 2 : begins])
            if length <= (_LONGEST_CONTROL if begins == position + 4 else 0xFFFF) or length >> 63:
                self._fail(PROTOCOL_ERROR, "a length that is not minimal")
                return None
        if opcode in _DATA and len(self._fragments) + length > self._limit:
            self._fail(MESSAGE_TOO_BIG, "a message is larger than allowed")
            return None
        return _Header(opcode, bool(first & _FIN), begins, begins + length)

    def _fault_of(self, first: int, second: int) -> str | None:
        """Return the fault in the first two bytes of a frame."""
        opcode = first & _OPCODE
        if first & _RESERVED:
            return "a reserved bit is set"
        if second & _MASK:
            return "a frame of a server is masked"
        if opcode in _CONTROL:
            is_sound = first & _FIN and (second & _LENGTH) <= _LONGEST_CONTROL
            return None if is_sound else "a control frame is long or in fragments"
        if opcode not in _DATA:
            return "an opcode that is not known"
        if (opcode == _CONTINUATION) != bool(self._kind):
            return "a fragment without its message, or a message within another"
        return None

    def _take(self, header: _Header, data: bytes, frames: list[bytes | WebSocketFrame]) -> None:
        payload = data[header.begins : header.ends]
        if header.opcode == CLOSE:
            self._close(payload, frames)
        elif header.opcode in _CONTROL:
            frames.append(WebSocketFrame(header.opcode, payload))
        else:
            self._take_data(header, payload, frames)

    def _take_data(self, header: _Header, payload: bytes, frames: list[bytes | WebSocketFrame]) -> None:
        kind = self._kind or header.opcode
        if not header.is_final:
            self._fragments += payload
            self._kind = kind
            return
        message = bytes(self._fragments + payload) if self._fragments else payload
        frames.append(message if kind == TEXT else WebSocketFrame(kind, message))
        self._fragments.clear()
        self._kind = 0

    def _close(self, payload: bytes, frames: list[bytes | WebSocketFrame]) -> None:
        frame = WebSocketFrame(CLOSE, payload)
        if len(payload) == 1 or (payload and not _is_sound_close(frame)):
            self._fail(PROTOCOL_ERROR, "a Close frame that may not be sent")
            return
        self.is_closed = True
        frames.append(frame)

    def _fail(self, code: FailureCode, message: str) -> None:
        self.failure = WebSocketFailure(code, message)
        self.is_closed = True
        self._fragments.clear()


def _is_sound_close(frame: WebSocketFrame) -> bool:
    """Return whether a Close frame has a code that may be sent and a reason in UTF-8."""
    try:
        frame.data[2:].decode()
    except UnicodeDecodeError:
        return False
    return frame.close_code in _REGISTERED or frame.close_code in _PRIVATE


def client_frame(opcode: int, data: bytes) -> bytes:
    """Return the frame of a client that holds `data` unfragmented, with a new random mask."""
    mask = os.urandom(4)
    return b"".join((_head(opcode, len(data)), mask, _masked(data, mask)))


def close_frame(code: int) -> bytes:
    """Return the Close frame of a client, without a reason."""
    return client_frame(CLOSE, code.to_bytes(2))


def _head(opcode: int, size: int) -> bytes:
    first = _FIN | opcode
    if size < _LENGTH_OF_2:
        return bytes((first, _MASK | size))
    if size <= 0xFFFF:
        return bytes((first, _MASK | _LENGTH_OF_2)) + size.to_bytes(2)
    return bytes((first, _MASK | _LENGTH_OF_8)) + size.to_bytes(8)


def _masked(data: bytes, mask: bytes) -> bytes:
    """Return `data` XOR `mask`, as one long number: a loop over bytes would take 100 times as long."""
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data) ^ int.from_bytes(key)).to_bytes(size)
