"""The messages between a serving process and the console, over a Unix socket.

Each is a length, then MessagePack.

serving process -> console   Hello once, then Rows and Answers
console -> serving process   Watch and Asks
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any, Final, Literal, TypeAlias

import msgspec

from streamweir_gateway.console.row import PackedRow, PlottedRow

__all__ = [
    "Answer",
    "Ask",
    "FromConsole",
    "FromWorker",
    "Hello",
    "Rows",
    "Watch",
    "framed",
    "packed_rows",
    "plotted_rows",
    "read_message",
    "unpacked_rows",
]

_LENGTH: Final = struct.Struct("!I")


class Hello(msgspec.Struct, tag=True):
    """Sent when a serving process has connected.

    Attributes:
        worker: the number of the process, from 1.
        pid: the process id.
    """

    worker: int
    pid: int


class Rows(msgspec.Struct, tag=True):
    """Sent when rows have changed.

    Attributes:
        rows: the changed rows that are open, or that were sent when they were open.
        ended: the rows that have ended and were not sent before, as `packed_rows` returns them.
        count: the number of rows in `ended`.
        gone: the ids of rows whose captures are not kept any longer.
    """

    rows: list[PackedRow]
    ended: msgspec.Raw
    count: int
    gone: list[str]


class Answer(msgspec.Struct, tag=True):
    """The answer to the `Ask` with this number; None: the requested data does not exist."""

    number: int
    content: Any


class Watch(msgspec.Struct, tag=True):
    """Says whether the console has viewers, so that the process sends the changes of open rows too."""

    is_on: bool


class Ask(msgspec.Struct, tag=True):
    """A question of the console to a serving process.

    Attributes:
        number: the number of this question; the answer has the same number.
        topic: `rows`: the changes of open rows; `capture`: the log of one row; `upstreams`: their states.
        row_id: the id of the row whose capture is asked for.
        start: the number of the first entry of the log that is asked for.
    """

    number: int
    topic: Literal["rows", "capture", "upstreams"]
    row_id: str = ""
    start: int = 0


FromWorker: TypeAlias = Hello | Rows | Answer
FromConsole: TypeAlias = Watch | Ask

_ENCODER: Final = msgspec.msgpack.Encoder()
_FROM_WORKER: Final = msgspec.msgpack.Decoder(FromWorker)
_FROM_CONSOLE: Final = msgspec.msgpack.Decoder(FromConsole)
_PACKED_ROWS: Final = msgspec.msgpack.Decoder(list[PackedRow])
_PLOTTED_ROWS: Final = msgspec.msgpack.Decoder(list[PlottedRow])
_DECODERS: Final[dict[str, Any]] = {"worker": _FROM_WORKER, "console": _FROM_CONSOLE}


def packed_rows(rows: list[PackedRow]) -> msgspec.Raw:
    """Return rows in the form that `Rows.ended` has."""
    return msgspec.Raw(_ENCODER.encode(rows))


def plotted_rows(packed: msgspec.Raw) -> list[PlottedRow]:
    """Return the facts for the plots from rows that `packed_rows` has packed. Other facts are not decoded."""
    return _PLOTTED_ROWS.decode(packed)


def unpacked_rows(packed: msgspec.Raw) -> list[PackedRow]:
    """Return the rows that `packed_rows` has packed."""
    return _PACKED_ROWS.decode(packed)


def framed(message: FromWorker | FromConsole) -> bytes:
    """Return the bytes of a message, with its length in front."""
    data = _ENCODER.encode(message)
    return _LENGTH.pack(len(data)) + data


async def read_message(reader: asyncio.StreamReader, sender: Literal["worker", "console"]) -> Any:
    """Read and return the next message, which has a type that `sender` may send.

    Raises:
        asyncio.IncompleteReadError: the other end has closed.
        msgspec.MsgspecError: the bytes are no message.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return _DECODERS[sender].decode(await reader.readexactly(length))
