"""Text for clients without `op: replace`: new text is appended, any other change is left out.

Source: the standard protocol 1.1, its introduction and section 3 rule 7.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from streamweir.events import Content
from streamweir.stages import TextDigest
from streamweir.stages.text import KEPT_AS_TEXT

__all__ = ["AppendOnlyText"]

MAX_MESSAGES: Final = 10_000
"""The most messages that are remembered. A replacement in an older message is left out."""


_Key = tuple[str | None, str | None]
"""Message id and channel."""


class _Message(msgspec.Struct):
    """The text of one message that the client has."""

    text: TextDigest
    completed: bool = False


class AppendOnlyText:
    """The texts that one client has received, message by message."""

    def __init__(self, unsupported: Counter[str]) -> None:
        self._unsupported = unsupported
        self._messages: OrderedDict[_Key, _Message] = OrderedDict()
        self._alike: Content | None = None
        self._going_on: _Message | None = None
        """The message that `_alike` belongs to; None unless the last event was such a piece."""

    def append(self, event: Content) -> Content | None:
        """Return the part of `event` that the client can append: all of it unless it replaces text; None if
        there is no such part.
        """
        self._alike = None
        if event.op != "replace":
            return self._piece(event)
        message = self._message(event)
        new = message.text.new_part(event.content)
        if new is None:
            self._unsupported["replaced text"] += 1
            new = ""
        if not new and (not event.is_complete or message.completed) and event.opaque is None:
            return None
        self._note(message, new, ends=bool(event.is_complete))
        return msgspec.structs.replace(event, content=new, op=None)

    def note(self, event: Content, texts: Sequence[str]) -> None:
        """Note further texts of the message that `event` belongs to."""
        message = self._going_on
        if message is None or event is not self._alike:
            self._alike, self._going_on = event, (message := self._open_message(event))
            message.completed = False
        message.text.append("".join(texts))

    def _piece(self, event: Content) -> Content | None:
        if not event.content and event.opaque is not None:
            return event
        if not event.content and event.is_complete and self._message(event).completed:
            return None  # it replaced text that this client still has
        self._note(self._open_message(event), event.content, ends=bool(event.is_complete))
        return event

    def _note(self, message: _Message, text: str, *, ends: bool) -> None:
        if text:
            message.text.append(text)
        message.completed = ends

    def _open_message(self, event: Content) -> _Message:
        """Return the open message that `event` belongs to; for an event without an id the last one, or a new
        one if that is complete.
        """
        message = self._message(event)
        if message.completed and _key(event)[0] is None:
            message = self._messages[_key(event)] = _Message(TextDigest())
        return message

    def _message(self, event: Content) -> _Message:
        key = _key(event)
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = _Message(TextDigest())
            if len(self._messages) > KEPT_AS_TEXT:
                next(islice(reversed(self._messages.values()), KEPT_AS_TEXT, None)).text.compact()
            if len(self._messages) > MAX_MESSAGES:
                self._messages.popitem(last=False)
        return message


def _key(event: Content) -> _Key:
    return event.meta.get("message_id") if event.meta else None, event.channel
