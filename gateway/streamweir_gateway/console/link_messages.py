"""The messages between a serving process and the console, over a Unix socket: a length and MessagePack.

serving process -> console   Hello once, then Rows and Answers
console -> serving process   Watch and Asks
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any, Final, Literal, TypeAlias

import msgspec

from streamweir_gateway.console.row import Row

__all__ = [
    "Answer",
    "Ask",
    "FromConsole",
    "FromWorker",
    "Hello",
    "Rows",
    "Watch",
    "framed",
    "read_message",
]

_LENGTH: Final = struct.Struct("!I")


class Hello(msgspec.Struct, tag=True):
    """A serving process has connected.

    Attributes:
        worker: its number, from 1.
        pid: its process id.
    """

    worker: int
    pid: int


class Rows(msgspec.Struct, tag=True):
    """Rows have changed.

    Attributes:
        rows: in the order of their changes.
        gone: the rows whose captures are not kept any longer.
    """

    rows: list[Row]
    gone: list[str]


class Answer(msgspec.Struct, tag=True):
    """The answer to the `Ask` with this number; None: the asked thing does not exist."""

    number: int
    content: Any


class Watch(msgspec.Struct, tag=True):
    """Somebody watches: send changes of open rows too, or no longer."""

    is_on: bool


class Ask(msgspec.Struct, tag=True):
    """A question.

    Attributes:
        number: the number of the answer.
        topic: `rows`: changes of open rows now; `capture`: of one row; `upstreams`: their states.
        row_id: of `capture`.
        start: the first entry of the log that is asked for.
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
_DECODERS: Final[dict[str, Any]] = {"worker": _FROM_WORKER, "console": _FROM_CONSOLE}


def framed(message: FromWorker | FromConsole) -> bytes:
    """Return the bytes of a message."""
    data = _ENCODER.encode(message)
    return _LENGTH.pack(len(data)) + data


async def read_message(reader: asyncio.StreamReader, sender: Literal["worker", "console"]) -> Any:
    """Return the next message of `sender`.

    Raises:
        asyncio.IncompleteReadError: the other end has closed.
        msgspec.MsgspecError: the bytes are no message.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return _DECODERS[sender].decode(await reader.readexactly(length))
