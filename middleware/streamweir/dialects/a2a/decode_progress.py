"""Reads the reports of a working agent: messages in the state `working`.

Reports are no part of the answer, unless the option `progress` or the marks of Google's ADK say so. Other
agents may stream their answer in such messages, which then look exactly like reports on the agent's work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, message_meta, text_of
from streamweir.dialects.a2a.decode_adk import is_asked, is_output
from streamweir.dialects.a2a.decode_envelope import MESSAGE
from streamweir.dialects.a2a.decode_parts import (
    Part,
    beside_events,
    data_of,
    is_thought,
    part_events,
    parts_of,
    text_of_parts,
)
from streamweir.events import Content, Event, Meta, Status, Thinking
from streamweir.ids import SeenIds

__all__ = ["Progress"]

_NO_TEXT: Final = "\0"
"""A text with which hardly any report begins; one that does is read."""


class Progress:
    """The reports of one stream.

    Args:
        becomes: the kind of event for a report: `thinking`, `content` or `status`.
        room: the number of bytes, roughly, that may be remembered.

    Attributes:
        has_answered: whether a report was part of the answer.
    """

    def __init__(self, becomes: str, room: int) -> None:
        self._becomes = becomes
        self._longest = room // 2
        self._seen = SeenIds(room // 2)
        self._last = ("", "")
        self._has_grown = False
        self.has_answered = False

    def read(
        self, message: Mapping[str, Any], meta: Meta | None, *, is_nested: bool, beside: Any = None
    ) -> Iterator[Event]:
        """Yield the new part of a report. If the next state repeats a report, the report is yielded once.

        Args:
            message: the report.
            meta: the metadata of the event.
            is_nested: whether the data of its parts are nested one level deeper.
            beside: the metadata of the state.
        """
        message_id = text_of(message.get("messageId"))
        if message_id and message_id in self._seen:
            return
        self._seen.add(message_id)
        parts = [*parts_of(message, is_nested=is_nested, beside=beside)]
        yield from part_events(filter(_is_beside_text, parts), meta)
        text, meta = text_of_parts(parts), and_extra(meta, leftover(message, MESSAGE))
        if not text:
            yield from beside_events(meta)
        elif is_output(beside):
            self.has_answered = True
            yield Content(text, meta={**(meta or {}), **(message_meta(message_id) or {})})
        else:
            yield from self._events(message_id, text, meta)

    def accept(self, ids: Sequence[str], texts: Sequence[str]) -> int:
        """Note reports that `read` would yield as thinking with their own ids and nothing else.

        Returns:
            The number of reports before the first one that has to be read.
        """
        count = 0 if self._has_grown else self._new_among(texts)
        if not count:
            return 0
        if not self._seen.add_all(ids[:count]):
            count = self._new_in(ids[:count])
        if count:
            self._last = (ids[count - 1], texts[count - 1])
        return count

    def _new_among(self, texts: Sequence[str]) -> int:
        """Return the number of texts before the first one that is too long to remember, or that begins with
        the text before it.
        """
        before = (self._last[1] or _NO_TEXT, *texts[:-1])
        new_parts = map(str.removeprefix, texts, before)  # `startswith` takes longer
        if len("".join(texts)) <= self._longest and [*new_parts] == texts:
            return len(texts)
        for count, (last, text) in enumerate(zip(before, texts, strict=True)):
            if text.startswith(last) or len(text) > self._longest:
                return count
        return len(texts)

    def _new_in(self, ids: Sequence[str]) -> int:
        """Remember ids up to the first one that is known; return how many these are."""
        for count, message_id in enumerate(ids):
            if message_id in self._seen:
                return count
            self._seen.add(message_id)
        return len(ids)

    def _events(self, message_id: str, text: str, meta: Meta | None) -> Iterator[Event]:
        if self._becomes == "status":
            yield Status("workflow", "running", detail=text, meta=meta)
            return
        message_id, text = self._new_part(message_id, text)
        if not text:
            yield from beside_events(meta)
        elif self._becomes == "content":
            self.has_answered = True
            yield Content(text, meta=meta)
        else:
            yield Thinking(text, meta={**(meta or {}), **(message_meta(message_id) or {})})

    def _new_part(self, message_id: str, text: str) -> tuple[str, str]:
        """Return the text that a report adds to the report before it, and the id of the message."""
        last_id, last = self._last
        grows = bool(last) and len(text) > len(last) and text.startswith(last)
        self._has_grown = self._has_grown or grows
        is_more = grows or (self._has_grown and text == last)
        message_id = last_id if is_more else message_id
        self._last = (message_id, text if len(text) <= self._longest else "")
        return message_id, text[len(last) :] if is_more else text


def _is_beside_text(part: Part) -> bool:
    """Return whether a part is a thought, data or a call. Questions are not, because they are sent again."""
    if part.text is not None:
        return is_thought(part)
    return not is_asked(part.fields.get("metadata"), data_of(part))
