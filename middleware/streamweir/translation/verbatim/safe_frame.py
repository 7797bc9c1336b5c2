"""Rewrites the frame of a failure: only texts that may not be sent to clients are changed.

Source: the standard protocol 1.1, section 8 and section 3 rule 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

import msgspec

from streamweir.classification.failure_signs import (
    NOTHING,
    field_name,
    has_failure_sign,
    is_failing_name,
    may_name_failure,
)
from streamweir.classification.finish_words import is_finish_word
from streamweir.classification.stack_traces import is_exception_text
from streamweir.errors import MACHINE_CODE, WARNINGS, MalformedEvent
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
    ids_of,
    wire_data,
)
from streamweir.framing import Frame, LineFraming, with_data
from streamweir.jsontext import has_repeated_key, parse_json, valid_utf8, write_json
from streamweir.optional_json import json_or
from streamweir.redaction import REDACTED, is_secret_name
from streamweir.stages import ErrorSanitizer
from streamweir.stages.safe_report import SENTENCES, WITHHELD, CancelledReport, SafeReport
from streamweir.translation.items import DONE, SafeEvent, StreamItem, TextRun, ThoughtRun

__all__ = ["FrameSanitizer"]

_NOTES: Final = frozenset(code for code, row in WARNINGS.items() if row.is_added_by_reader)
"""Codes of the warnings that the reader adds to the events of a frame; the frame does not hold them."""

_FREE: Final = frozenset({ToolCallStart, ToolCallDelta, ToolCallProgress, ToolCallEnd, Interaction, Data})
"""Events that hold data of an application, where a field called `error` need not report a failure."""

_OF_RUN: Final = frozenset({SessionStart, SessionEnd})
"""Events whose search may use up the budget of a stream, so that its result depends on earlier events."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.+Z-]{1,24}")
_OPENING: Final = re.compile(r"\s*[*\w ]{0,32}:? ?|(?s:.*)\*\*[A-Z]+\*\*: ?")
"""Words that a dialect may write before the message of a failure to mark it, such as `**ERROR**: `."""

_PLAIN_KEY: Final = re.compile(r"[\w.$@-]{1,64}")
"""A key that is never withheld, whatever its name."""

_LONGEST_PLAIN: Final = 8
"""The least length of a secret in a field with any name."""

_MOST_COMPARISONS: Final = 1 << 20
"""The most searches for messages of failures in the texts of one frame; further texts are withheld."""


class FrameSanitizer:
    """Makes the frames of one stream safe: failure reports, and other frames with a failure in a field.

    Attributes:
        found_safe: the last frame holds one event, and the first stage would pass it unchanged: the event was
            searched here by the same rules, which do not depend on earlier events.
    """

    found_safe = False

    @cached_property
    def _errors(self) -> ErrorSanitizer:
        return ErrorSanitizer(debug=False)

    def process(self, frame: Frame, items: Sequence[StreamItem], framing: str) -> bytes:
        """Return the bytes of a frame that may be sent; they are UTF-8.

        Args:
            frame: the frame, with its `raw` bytes.
            items: the events that were read from it.
            framing: the framing of the body.
        """
        raw = valid_utf8(frame.raw or b"")
        self.found_safe = False
        only = items[0] if len(items) == 1 else None
        if type(only) in _FREE:
            data = self._alone(only, frame.data)  # type: ignore[arg-type]
        elif not frame.data or (frame.data == DONE if only is None else _is_plain(only, frame.data)):
            return raw
        else:
            data = self._beside_others(items, frame.data)
        return raw if data is None else with_data(raw, data, cast("LineFraming", framing))

    def _alone(self, event: Event, data: bytes) -> bytes | None:
        """Return the data of the frame of one event that is free to have a field called `error`; None if
        nothing has to be changed.
        """
        clean = self._errors.process(event)
        self.found_safe = clean is None
        if clean is None:
            return None
        return SafeFrame((event,), (*clean,), is_code=self._errors.is_code).rewritten(data)

    def _beside_others(self, items: Sequence[StreamItem], data: bytes) -> bytes | None:
        """Return the data of the frame of several events, or of one of another kind; see `_alone`."""
        failures: list[Event] = []
        safe: list[Event] = []
        others: list[Event] = []
        for item in items:
            if type(item) is TextRun or type(item) is ThoughtRun or type(item) is SafeEvent:
                continue
            if _is_report(item):
                continue
            if (clean := self._errors.process(item)) is not None:
                failures.append(item)
                safe += clean
            else:
                others.append(item)
        self.found_safe = len(others) == len(items) == 1 and type(others[0]) not in _OF_RUN
        if self.found_safe:  # one event, which is no end
            return without_failures(data, is_code=self._is_code)
        if failures:
            return SafeFrame(failures, safe, others, is_code=self._errors.is_code).rewritten(data)
        if any(map(_is_bad_end, others)):
            return self._looked_through(data, others)
        if any(map(_is_free, others)):
            return None
        return without_failures(data, is_code=self._is_code, is_unread=not items)

    def _is_code(self, text: str) -> bool:
        return self._errors.is_code(text)

    def _looked_through(self, data: bytes, events: Sequence[Event]) -> bytes | None:
        """Return the data of the frame of a run that ended badly, without unsafe texts; None if nothing has
        to be changed.
        """
        kept = {text for event in events if not _is_bad_end(event) for text in _texts_in(event)}
        report = CancelledReport(self._errors.redacted, self._errors.is_code, kept)
        try:
            value = parse_json(data)[0]
        except MalformedEvent:
            text = data.decode(errors="replace")
            safe_text = report.copy(text)
            return None if safe_text == text else _as_line(safe_text)
        safe = report.copy(value)
        return None if safe == value and not has_repeated_key(data) else write_json(safe)


class SafeFrame:
    """Rewrites the data of a frame that reports a failure.

    Keys, numbers, ids, codes, known words and the texts of the safe events stay. A message is replaced by the
    safe one. All other texts are withheld.

    Args:
        raw: the failures with the texts that were read.
        safe: the same failures with the texts that may be sent.
        others: the other events of the frame, which may be sent unchanged.
        is_code: returns whether a text is an id or a code, and no secret.
        withheld: replaces a text that is withheld.
    """

    def __init__(
        self,
        raw: Sequence[Event],
        safe: Sequence[Event],
        others: Sequence[Event] = (),
        *,
        is_code: Callable[[str], bool],
        withheld: str = WITHHELD,
    ) -> None:
        self._is_code = is_code
        self._withheld = withheld
        self._messages: dict[str, str] = {}
        self._replaced: dict[str, str | None] = {}
        """For each text its replacement; None if it contains no message of a failure."""
        self._comparisons_left = _MOST_COMPARISONS
        self._kept: set[str] = set()
        for event, clean in zip(raw, safe, strict=True):
            message, replacement = _message_of(event), _message_of(clean)
            if message and message != replacement:
                self._messages[message] = replacement
        for event in (*safe, *others):
            # an end beside a failure repeats what failed
            meta = ids_of(event.meta) if isinstance(event, SessionEnd) else event.meta
            self._kept.update(_texts_in(wire_data(event)), _texts_in(meta))

    def rewritten(self, data: bytes) -> bytes | None:
        """Return the data of the frame that may be sent; None if nothing has to be changed."""
        try:
            value = parse_json(data)[0]
        except MalformedEvent:
            if data.strip() == DONE:
                return None  # a mark, at which the failure of a run may show
            text = data.decode(errors="replace")
            safe = self._text(text, "message")
            return None if safe == text else _as_line(safe)
        safe = self._copy(value, "")
        return None if safe == value and not has_repeated_key(data) else write_json(safe)

    def _copy(self, value: Any, key: str) -> Any:
        match value:
            case str():
                return self._text(value, key)
            case dict():
                return {_safe_key(str(name)): self._field(str(name), item) for name, item in value.items()}
            case list():
                return [self._copy(item, key) for item in value]
        return value

    def _field(self, key: str, value: Any) -> Any:
        if is_secret_name(key) and isinstance(value, str) and len(value) >= _LONGEST_PLAIN:
            return value if value in self._kept else REDACTED
        return self._copy(value, key)

    def _text(self, text: str, key: str) -> str:
        if not text or text in self._kept:
            return text
        if text not in self._replaced:
            self._replaced[text] = self._without_message(text)
        if (replaced := self._replaced[text]) is not None:
            return replaced
        if is_finish_word(text):
            return text
        is_sentence = SENTENCES.fullmatch(field_name(key)) and not MACHINE_CODE.fullmatch(text)
        if not is_sentence and (_TIME.fullmatch(text) or self._is_code(text)):
            return text
        return self._withheld

    def _without_message(self, text: str) -> str | None:
        """Return the replacement of a text that holds the message of a failure; None if it holds none."""
        if (replacement := self._messages.get(text)) is not None:
            return replacement
        self._comparisons_left -= len(self._messages)
        if self._comparisons_left < 0:
            return self._withheld
        for message, replacement in self._messages.items():
            if message in text:
                opening, _, rest = text.partition(message)
                is_alone = not rest.strip() and _OPENING.fullmatch(opening)
                return opening + replacement + rest if is_alone else replacement
        return None


def _safe_key(key: str) -> str:
    return WITHHELD if is_exception_text(key) and not _PLAIN_KEY.fullmatch(key) else key


def _as_line(text: str) -> bytes:
    return " ".join(text.splitlines()).encode()


def without_failures(data: bytes, *, is_code: Callable[[str], bool], is_unread: bool = False) -> bytes | None:
    """Return the data of a frame without the failures in its fields.

    Args:
        data: the data of a frame whose events are not failures.
        is_code: returns whether a text is an id or a code, and no secret.
        is_unread: no event was read from the frame: it is bookkeeping, such as a copy of another event, and
            its fields have not been searched for a failure yet.

    Returns:
        None if nothing has to be changed.
    """
    if not may_name_failure(data.decode(errors="replace")):
        return None
    value = json_or(data)
    safe = _withheld(value, is_code, is_unread)
    return None if safe == value else write_json(safe)


def _withheld(value: Any, is_code: Callable[[str], bool], is_unread: bool) -> Any:
    if isinstance(value, list):
        return [_withheld(item, is_code, is_unread) for item in value]
    if not isinstance(value, dict):
        return value
    report = SafeReport(is_code)
    if is_unread and has_failure_sign(value):
        return report.copy_fields(value)
    return {
        name: report.copy_fields({name: item})[name]
        if _is_failure(name, item)
        else _withheld(item, is_code, is_unread)
        for name, item in value.items()
    }


def _is_failure(name: str, value: Any) -> bool:
    """Return whether a field reports a failure, as opposed to a warning or success."""
    if not value or not is_failing_name(name) or "warn" in name.lower():
        return False
    return not (isinstance(value, str) and value.strip().lower() in NOTHING)


def _message_of(event: Event) -> str:
    match event:
        case Error(message=message) | Warning(message=message):
            return message
        case ToolCallEnd(error=error) if error:
            return error["message"]
    return ""


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, msgspec.Struct):
        yield from _texts_in(msgspec.structs.asdict(value))


def _is_plain(item: StreamItem, data: bytes) -> bool:
    """Return whether a frame that holds only `item` is surely safe."""
    kind = type(item)
    if kind is Content or kind is Thinking:
        return not item.meta  # type: ignore[union-attr]  # the frame holds nothing else
    is_good_end = type(item) is SessionEnd and not item.meta and not _is_bad_end(item)
    return is_good_end and not may_name_failure(data.decode(errors="replace"))


def _is_free(event: Event) -> bool:
    return type(event) in _FREE


def _is_bad_end(event: Event) -> bool:
    return type(event) is SessionEnd and event.status in ("cancelled", "error")


def _is_report(item: Event) -> bool:
    """Return whether an item is the reader's warning about a frame."""
    return type(item) is Warning and item.message_code in _NOTES and item.for_users is True
