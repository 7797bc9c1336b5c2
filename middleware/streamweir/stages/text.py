"""Sends each text once, and completes every message.

Source: the standard protocol 1.1, section 3 rules 5 and 7; the option `full_text`. A message consists of the
`content` events of one `message_id` in one channel; without an id, of those up to `is_complete`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import ClassVar, Final, Literal, get_args

import msgspec

from streamweir.errors import ConfigurationError
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Meta,
    SessionEnd,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    ids_of,
)
from streamweir.options.limits import EVENT_BYTES
from streamweir.stages.deferred_thoughts import DeferredThoughts
from streamweir.stages.sanitizer import ErrorSanitizer
from streamweir.stages.sent_message import (
    MessageKey,
    SentMessage,
    bit_of,
    completion,
    is_open,
    key_of,
    renamed,
    room_of,
)
from streamweir.stages.text_digest import KEPT_CHARACTERS, TextDigest

__all__ = ["FullText", "TextDeduplication"]

FullText = Literal["dedupe", "append", "replace"]
_FULL_TEXTS: Final = frozenset(get_args(FullText))

_TEXTS_PER_ROOM: Final = 256
_DEFERRED_PER_ROOM: Final = 32
KEPT_AS_TEXT: Final = 16
"""The number of messages kept as text, for exact comparison; older ones are kept as length and hash."""


class TextDeduplication:
    """Drops repeated text, appends new text, replaces contradicting text, and completes messages.

    Args:
        full_text: how to treat a copy of the whole answer: send only the new part (`dedupe`), send all of it
            again (`append`), or send all of it as a replacement (`replace`).
        room: roughly how many bytes may be remembered; beyond that, the oldest is completed and forgotten.
        sanitizer: the sanitizer of the stream, for events that this stage makes, which have not passed it.

    Raises:
        ConfigurationError: `full_text` is unknown.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(
        {Content, Thinking, ToolCallStart, ToolCallEnd, Error, SessionEnd}
    )
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    _current: SentMessage | None = None
    _has_content = False
    """A message of the answer has begun."""
    _deferred: DeferredThoughts | None = None
    _highest_number = 1

    def __init__(
        self, full_text: FullText = "dedupe", room: int = EVENT_BYTES, sanitizer: ErrorSanitizer | None = None
    ) -> None:
        if full_text not in _FULL_TEXTS:
            raise ConfigurationError(f"full_text cannot be {full_text!r} (one of: dedupe, append, replace)")
        self._full_text = full_text
        self._sanitizer = sanitizer
        kept = room // _TEXTS_PER_ROOM
        self._kept_characters = kept if kept < KEPT_CHARACTERS else KEPT_CHARACTERS
        self._room = room
        self._left = room // 2
        self._deferred = None  # read for each event, as the next two are: it takes longer on the class
        self._tools = self._forgotten = 0
        self._messages: dict[MessageKey, SentMessage] = {}
        """The messages in the order of their beginning."""

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return the new part of `event`, None if all is new; before the end, complete all messages."""
        kind = type(event)
        if self._deferred is not None and kind is not SessionEnd:
            self._remember_deferred()
        if kind is Content or kind is Thinking:  # nearly all: a `match` would cost as much as the rest
            passed = self._text(event)  # type: ignore[arg-type]
            return passed if passed is None or passed else self._rest_of(event)  # type: ignore[arg-type]
        if kind is ToolCallStart or kind is ToolCallEnd:
            self._tools += 1
        elif kind is SessionEnd or (kind is Error and event.terminal):  # type: ignore[union-attr]
            ends = self._complete_all()
            return (*ends, event) if ends else None
        return None

    def _text(self, event: Content | Thinking) -> Iterable[Event] | None:
        key, whole = key_of(event), event.whole
        message = self._messages.get(key)
        if message is None:
            if self._left < 0 and self._messages:
                oldest = tuple(self._forget_oldest())
                rest = self._text(event)
                return (*oldest, *((event,) if rest is None else rest or self._rest_of(event)))
            if whole == "repeat" and isinstance(event, Content):
                return self._repeat_of_another(event)
            if whole == "copy" and self._is_copy(event, key):
                return ()
            message = self._begin(event, key) if self._forgotten else self._open_new(event, key)
        if whole is not None:
            if whole == "copy":
                message.copied_as = key[0]
            return self._whole(event, message)
        if type(event) is Content:
            if event.op == "replace":
                new = None if self._full_text == "replace" else message.all.new_part(event.content)
                return self._replacement(event, message) if new is None else self._settle(event, message, new)
            return self._piece(event, message)
        self._current = message
        self._trace(message, event.content)
        return None if event.content else ()

    @property
    def may_defer(self) -> bool:
        """Whether `defer` may be called: no text of an answer has come, which may have to be completed."""
        return not self._has_content

    def defer(self, event: Thinking, ids: Sequence[str], texts: Sequence[str], room: int) -> None:
        """Note pieces of thinking, each of a message of its own, which this stage passes unchanged.

        They are remembered like others when a further text or call comes. The end of a stream needs none.

        Args:
            event: a piece with their common fields.
            ids: the id of each message.
            texts: the text of each piece; none is empty.
            room: roughly the most bytes that these ids and texts take.
        """
        if self._deferred is None:
            self._deferred = DeferredThoughts(self._room // _DEFERRED_PER_ROOM)
        self._deferred.add(event, ids, texts, room)
        for thought in self._deferred.take(excess=True):
            self._text(thought)

    def _remember_deferred(self) -> None:
        """Remember the thoughts that were deferred."""
        deferred, self._deferred = self._deferred, None
        for thought in deferred.take(excess=False) if deferred else ():
            self._text(thought)

    def go_on(self, text: str) -> None:
        """Note more text of the message whose piece was the last event."""
        message = self._current
        assert message is not None
        message.all.append(text)
        if message.segment is not None:
            message.segment.append(text)

    def continues(self, event: Content | Thinking) -> bool:
        """Return whether the whole text `event` is exactly what was sent; `go_on` may then follow it."""
        message = self._messages.get(key_of(event))
        if message is None or not message.all.is_exactly(event.content):
            return False
        self._current = message
        return True

    def _last_beside(self, key: MessageKey) -> MessageKey | None:
        """Return the key of the last message in the channel of `key`."""
        return next((known for known in reversed(self._messages) if known[1:] == key[1:]), None)

    def _is_copy(self, event: Content | Thinking, key: MessageKey) -> bool:
        """Return whether a whole message under a new id repeats the last message, which came in pieces.

        A graph may write the answer of its model into its state as a separate message. Only one copy counts:
        a further message with equal text and a third id is a new message.
        """
        last = self._last_beside(key)
        message = None if last is None else self._messages[last]
        if message is None or message.copied_as not in (None, key[0]) or not event.content:
            return False
        is_same = message.all.new_part(event.content) == ""
        if is_same:
            message.copied_as = key[0]
        return is_same

    def _repeat_of_another(self, event: Content) -> Iterable[Event]:
        """Return the new part of a text that repeats another message, if exactly one of the two has an id."""
        key = key_of(event)
        last = self._last_beside(key)
        message = self._messages.get(last) if last is not None else None
        if (
            last is None
            or message is None
            or (key[0] and last[0])
            or message.all.new_part(event.content) is None
        ):
            return self._whole(event, self._begin(event, key))
        meta: Meta = {**(event.meta or {})}
        meta.pop("message_id", None)
        if last[0]:
            meta["message_id"] = last[0]
        return self._whole(msgspec.structs.replace(event, meta=meta or None), message)

    def _piece(self, event: Content, message: SentMessage) -> Iterable[Event] | None:
        text, ends = event.content, event.is_complete is True
        if not text and (message.completed or not ends):
            return ()
        if message.completed:
            message = self._reopen(event, message)
        self._current = message
        self._trace(message, text)
        if ends:
            message.completed = True
        return None if message.number == 1 else (renamed(event, message),)

    def _whole(self, event: Content | Thinking, message: SentMessage) -> Iterable[Event]:
        text = event.content
        if not text:
            return self._settle(event, message, "")
        repeats = event.whole == "repeat"
        if repeats and self._full_text != "dedupe":
            if self._full_text == "append":
                return self._settle(event, message, text)
            if isinstance(event, Content):
                return self._replacement(event, message)
        new = message.all.new_part(text)
        if new is None and repeats:
            new = self._new_since_tools(message, text)
        if new is not None:
            return self._settle(event, message, new)
        if isinstance(event, Content):
            return self._replacement(event, message)
        # thinking knows no `replace`: it is said anew
        return self._settle(event, self._open_in_place_of(message, event), text)

    def _new_since_tools(self, message: SentMessage, text: str) -> str | None:
        """Return the part of `text` that is new since the last tool call; all if none of it was sent."""
        if message.tools_before_segment == self._tools:
            return None if message.segment is None else message.segment.new_part(text)
        return None if message.all.shares_beginning(text) else text

    def _replacement(self, event: Content, message: SentMessage) -> Iterable[Event]:
        """Send `event` in place of the text of `message`, which it contradicts."""
        fresh = self._open_in_place_of(message, event)
        fresh.got_text, fresh.number = message.got_text, message.number
        if event.content:
            fresh.got_text = True
            fresh.all.append(event.content)
        fresh.completed = message.completed or bool(event.is_complete)  # which nothing but this may follow
        ends = True if fresh.completed else event.is_complete
        replaced = msgspec.structs.replace(event, op="replace", whole=None, is_complete=ends)
        return (replaced if fresh.number == 1 else renamed(replaced, fresh),)

    def _settle(self, event: Content | Thinking, message: SentMessage, new: str) -> Iterable[Event]:
        """Send `new` in place of the text of `event`, and end the message if the event ends it."""
        if isinstance(event, Thinking):
            self._trace(message, new)
            return (msgspec.structs.replace(event, content=new, whole=None),) if new else ()
        ends = event.is_complete
        if not new and (not ends or message.completed):
            return ()
        if message.completed:
            message = self._reopen(event, message)
        self._trace(message, new)
        message.completed = bool(ends)
        settled = msgspec.structs.replace(event, content=new, op=None, whole=None)
        return (settled if message.number == 1 else renamed(settled, message),)

    def _trace(self, message: SentMessage, text: str) -> None:
        if not text:
            return
        if message.tools_before_segment != self._tools:
            message.tools_before_segment = self._tools
            message.segment = TextDigest(self._kept_characters)
        message.got_text = True
        message.all.append(text)
        if message.segment is not None:
            message.segment.append(text)

    def _begin(self, event: Content | Thinking, key: MessageKey) -> SentMessage:
        """Open a new message; a message that was completed to make room is continued under another id."""
        message = self._open_new(event, key)
        if self._forgotten and key[0] and not key[2] and self._forgotten & bit_of(key):
            self._number(message, self._highest_number + 1)
        return message

    def _number(self, message: SentMessage, number: int) -> None:
        message.number = number
        self._highest_number = max(self._highest_number, number)

    def _open_in_place_of(self, message: SentMessage, event: Content | Thinking) -> SentMessage:
        """Return a new message, the last one from now on, with the key of `message`."""
        del self._messages[message.key]
        self._left += message.room
        return self._open_new(event, message.key)

    def _open_new(self, event: Content | Thinking, key: MessageKey) -> SentMessage:
        meta = None if event.meta is None else ids_of(event.meta)
        room = room_of(key, meta)
        self._left -= room
        message = SentMessage(key, TextDigest(self._kept_characters), meta, self._tools, room)
        self._messages[key] = message
        if not key[2]:
            self._has_content = True
        if len(self._messages) > KEPT_AS_TEXT:
            self._compact_older()
        return message

    def _reopen(self, event: Content, over: SentMessage) -> SentMessage:
        """Return a new message with a new id, because text continues after the end of the message."""
        message = self._open_in_place_of(over, event)
        if event.meta and "message_id" in event.meta:
            self._number(message, over.number + 1)
        return message

    def _compact_older(self) -> None:
        older = next(islice(reversed(self._messages.values()), KEPT_AS_TEXT, None))
        older.all.compact()
        if older.segment is not None:
            older.segment.compact()

    def _forget_oldest(self) -> Iterable[Event]:
        key, message = next(iter(self._messages.items()))
        del self._messages[key]
        self._left += message.room
        self._forgotten |= bit_of(key)
        return (completion(key, message),) if is_open(key, message) else ()

    def _rest_of(self, event: Content | Thinking) -> Iterable[Event]:
        """Return the opaque value or the extra fields of an event whose text is not new."""
        if event.opaque is not None:
            return (self._opaque_alone(event),)
        if not event.meta or "extra" not in event.meta:
            return ()
        data = {"name": event.type, "value": event.meta["extra"]}
        beside = Data(data_type="custom", data=data, meta=ids_of(event.meta))
        return (self._sanitizer.process(beside) if self._sanitizer else None) or (beside,)

    def _opaque_alone(self, event: Content | Thinking) -> Event:
        """Return an event with nothing but the opaque value, under the clients' id of the message."""
        if isinstance(event, Thinking):
            return msgspec.structs.replace(event, content="", whole=None)
        alone = msgspec.structs.replace(event, content="", op=None, whole=None, is_complete=None)
        message = self._messages.get(key_of(event))
        return alone if message is None else renamed(alone, message)

    def _complete_all(self) -> Sequence[Event]:
        ends: list[Event] = []
        for key, message in self._messages.items():
            if is_open(key, message):
                ends.append(completion(key, message))
        self._messages.clear()
        return ends
