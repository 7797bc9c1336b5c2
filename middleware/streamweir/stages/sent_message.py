"""One message in the memory of the deduplication of texts, and the key of the message.

Source: the standard protocol 1.1, section 3 rules 5 and 7.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final
from zlib import crc32

import msgspec

from streamweir.codec.completion import COMPLETION
from streamweir.events import Content, Event, Meta, Thinking
from streamweir.stages.text_digest import TextDigest

__all__ = [
    "MessageKey",
    "SentMessage",
    "bit_of",
    "completion",
    "is_open",
    "key_of",
    "renamed",
    "room_of",
]

_MESSAGE: Final = 1200
"""Bytes that a message kept as length and hash takes, without its ids."""

_FORGOTTEN_BITS: Final = 1 << 12
"""Bits of the set of messages completed to make room, which are never taken for new ones."""

MessageKey = tuple[str | None, str | None, bool]
"""Message id, channel, and whether it is the thinking of that message."""

UNNAMED: Final[MessageKey] = (None, None, False)
"""The key of a message without an id in the default channel."""


class SentMessage(msgspec.Struct):
    """The text of one message that has been sent."""

    key: MessageKey
    all: TextDigest
    meta: Meta | None
    tools_before_segment: int
    room: int
    """Roughly how many bytes it takes, kept as length and hash."""
    segment: TextDigest | None = None
    """The text since the last tool call; None if that is the whole text."""
    got_text: bool = False
    """The message has had text, even if a replacement has removed it since: the client has it."""
    completed: bool = False
    copied_as: str | None = None
    """The id under which the whole text came again, its own id or another; None if it came in pieces only."""
    number: int = 1
    """The number of messages under the upstream's id, this one included."""


def room_of(key: MessageKey, meta: Meta | None) -> int:
    """Return roughly how many bytes a message with the ids `meta` takes that is kept as length and hash."""
    if key is UNNAMED and meta is None:
        return _MESSAGE
    room = _MESSAGE
    message_id, channel, _ = key
    if message_id is not None:
        if channel is None and meta is not None and len(meta) == 1:  # nearly all
            return room + 2 * getsizeof(message_id)
        room += getsizeof(message_id)
    if channel is not None:
        room += getsizeof(channel)
    for value in meta.values() if meta else ():
        if type(value) is str:
            room += getsizeof(value)
    return room


def bit_of(key: MessageKey) -> int:
    """Return the bit of a message in the set of messages that were forgotten."""
    return 1 << crc32(f"{key[0]} {key[1]}".encode("utf-8", "surrogatepass")) % _FORGOTTEN_BITS


def key_of(event: Content | Thinking) -> MessageKey:
    """Return the key of the message that an event belongs to."""
    if event.meta is None and type(event) is Content and event.channel is None:
        return UNNAMED
    message_id = event.meta.get("message_id") if event.meta else None
    return (message_id, event.channel, False) if type(event) is Content else (message_id, None, True)


def renamed(event: Content, message: SentMessage) -> Content:
    """Return `event` under the client's id of `message`, because an earlier message had the upstream's id."""
    meta = _own_meta(event.meta, message.number)
    return msgspec.structs.replace(event, meta=meta)


def _own_meta(meta: Meta | None, number: int) -> Meta | None:
    if number == 1 or not meta:
        return meta
    return {**meta, "message_id": f"{meta.get('message_id')}_{number}"}


def is_open(key: MessageKey, message: SentMessage) -> bool:
    """Return whether clients still expect the end of a message. Thinking has no end."""
    return message.got_text and not (message.completed or key[2])


def completion(key: MessageKey, message: SentMessage) -> Event:
    """Return the event that completes a message."""
    if key is UNNAMED and message.meta is None:
        return COMPLETION
    meta = message.meta if message.number == 1 else _own_meta(message.meta, message.number)
    return Content("", is_complete=True, channel=key[1], meta=meta)
