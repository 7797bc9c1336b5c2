"""The first messages of a body, parsed once for all dialects that look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.errors import StreamweirError
from streamweir.framing import Frame, SniffingParser
from streamweir.options.limits import EVENT_BYTES

__all__ = [
    "Head",
    "HeadMessage",
    "best_score",
    "head_message",
    "head_messages",
    "head_objects",
    "head_parser",
]

_NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})


class HeadMessage(NamedTuple):
    """One of the first messages of a body."""

    event: str | None
    """The SSE event name of the message."""
    data: bytes
    value: Any
    """The JSON value of the message's data; None if the data is no JSON."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the JSON object; empty if the value is no object."""
        return self.value if isinstance(self.value, dict) else _NO_FIELDS


def head_message(frame: Frame) -> HeadMessage | None:
    """Return the message of `frame`; None for events that this process wrote, in any dialect."""
    data = frame.data
    return HeadMessage(frame.event, data, _value(frame)) if data.find(TOKEN_PREFIX) < 0 else None


def _value(frame: Frame) -> Any:
    """Return the JSON value of a frame; if no blank line separates events, the value of its first line."""
    try:
        return frame.json()
    except StreamweirError:
        first, more, _ = frame.data.partition(b"\n")
        return _value(Frame(first)) if more else None


def head_parser(limit: int = EVENT_BYTES) -> SniffingParser:
    """Return the parser that cuts the head of a body into frames: SSE events, else objects or lines."""
    return SniffingParser(limit, expected="ndjson", in_a_row=True)


class Head(bytes):
    """The head of a body. Its messages are parsed once, although several dialects look at them."""

    @classmethod
    def of_message(cls, data: bytes | bytearray, message: HeadMessage) -> Head:
        """Return the head `data`, whose only message has been parsed already."""
        head = cls(data)
        head.messages = (message,)
        return head

    @cached_property
    def messages(self) -> tuple[HeadMessage, ...]:
        """The messages in the head. An unfinished last message is included if it can be parsed."""
        return tuple(_read(self))


def head_messages(head: bytes) -> tuple[HeadMessage, ...]:
    """Return the messages in `head`. Never raises."""
    return (head if isinstance(head, Head) else Head(head)).messages


def head_objects(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `head`. If it is an array in place of a stream, yield the objects in it."""
    for message in head_messages(head):
        for item in message.value if isinstance(message.value, list) else [message.value]:
            if isinstance(item, dict):
                yield item


def _read(head: bytes) -> Iterator[HeadMessage]:
    parser = head_parser()
    try:
        for frame in chain(parser.feed(head), parser.finish()):
            if message := head_message(frame):
                yield message
    except StreamweirError:
        return


def best_score(head: bytes, score: Callable[[Mapping[str, Any], str | None], float]) -> float:
    """Return the best `score(fields, event name)` of the JSON objects in `head`; 0 if it holds no object."""
    objects = (message for message in head_messages(head) if isinstance(message.value, dict))
    return max((score(message.fields, message.event) for message in objects), default=0.0)
