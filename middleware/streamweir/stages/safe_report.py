"""The safe part of the report of a failed step: numbers, flags, ids and machine codes, but no sentences.

Source: the standard protocol 1.1, section 3 rule 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from streamweir.classification.failure_signs import field_name, has_failure_sign, is_failing_name
from streamweir.classification.finish_words import is_finish_word
from streamweir.classification.stack_traces import is_exception_text
from streamweir.errors import MACHINE_CODE
from streamweir.lazy_pattern import LazyPattern
from streamweir.redaction import REDACTED, is_secret_name

__all__ = ["SENTENCES", "WITHHELD", "CancelledReport", "SafeReport"]

T = TypeVar("T")

WITHHELD: Final = "[withheld]"

SENTENCES: Final = LazyPattern(
    r"[a-z0-9]{0,64}(?:message|msg|text|reason|detail|description|cause|trace|stack|output|hint|title|stderr|stdout)s?"
    r"|(?:err|error|exception|exc|fault|failure)(?:s|string|str|info|value)?|value|values|data|content|result|args"
)
"""Names of fields that hold sentences, even if a sentence is a single word."""
_PLAIN_KEY: Final = LazyPattern(r"[A-Za-z_]{1,40}")
_MOST_TEXTS: Final = 64
"""The most texts of one report that are checked."""
_MOST_VALUES: Final = 1000
"""The most fields and items of a report that are kept; further ones are dropped."""


class SafeReport:
    """Copies the report of a failed step, and withholds every text that is not an id or a machine code.

    Args:
        is_code: returns whether a text is an id or a code, and not a secret key.
    """

    def __init__(self, is_code: Callable[[str], bool]) -> None:
        self._is_code = is_code
        self._texts_left = _MOST_TEXTS
        self._values_left = _MOST_VALUES

    def copy_fields(self, fields: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a copy of an object; the values of fields with secret names are replaced completely."""
        return {self._key(str(key)): self._field(str(key), item) for key, item in self._kept(fields.items())}

    def _key(self, key: str) -> str:
        return key if _PLAIN_KEY.fullmatch(key) else self._text(key)

    def _field(self, key: str, value: Any) -> Any:
        if is_secret_name(key):
            return REDACTED
        is_sentence = isinstance(value, str) and SENTENCES.fullmatch(field_name(key))
        if is_sentence and not MACHINE_CODE.fullmatch(value) and not is_finish_word(value):
            return WITHHELD
        return self._copy(value)

    def _copy(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case dict():
                return self.copy_fields(value)
            case list():
                return [self._copy(item) for item in self._kept(value)]
            case _:
                return value

    def _kept(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            if not self._values_left:
                return
            self._values_left -= 1
            yield item

    def _text(self, text: str) -> str:
        self._texts_left -= 1
        return text if self._texts_left >= 0 and self._is_code(text) else WITHHELD


_STOP: Final = LazyPattern(
    r"cancel|stop|abort|interrupt|terminat|disconnect|closed|left|取消|停止|中止|中断|終止|终止",
    re.IGNORECASE,
)
"""Words of a message which states that a run was stopped."""
_ID: Final = LazyPattern(r"\b[0-9a-f]{32}\b")
"""The id of a task or a run in such a message; redaction would take it for a key."""
_LONGEST_STOP: Final = 200


class CancelledReport:
    """Copies the report of a cancelled run, without the texts of a failure.

    A cancelled run is no failure, so its texts stay. Some servers report a failure in the same form: a text
    is withheld if it names an exception, holds a stack trace or a secret, or if it is the message of an error
    and does not say that the run was stopped.

    Args:
        redact: returns a text without its secrets; None if the budget for texts is used up.
        is_code: returns whether a text is an id or a code, and not a secret key.
        kept: texts that are kept in any case: those of the answer.
    """

    def __init__(
        self, redact: Callable[[str], str | None], is_code: Callable[[str], bool], kept: Container[str] = ()
    ) -> None:
        self._redact = redact
        self._is_code = is_code
        self._kept = kept

    def copy(self, value: Any, *, is_error: bool = False) -> Any:
        """Return a copy of a JSON value.

        Args:
            value: the value to copy.
            is_error: the value is in an object that reports an error.
        """
        match value:
            case str():
                return value if self._may_stay(value, is_message=False) else WITHHELD
            case dict():
                is_error = is_error or has_failure_sign(value)
                return {
                    self._key(str(key)): self._field(str(key), item, is_error) for key, item in value.items()
                }
            case list():
                return [self.copy(item, is_error=is_error) for item in value]
        return value

    def _key(self, key: str) -> str:
        return key if _PLAIN_KEY.fullmatch(key) or not is_exception_text(key) else WITHHELD

    def _field(self, key: str, value: Any, is_error: bool) -> Any:
        if not isinstance(value, str):
            return self.copy(value, is_error=is_error or is_failing_name(key))
        is_message = is_error and (SENTENCES.fullmatch(field_name(key)) is not None or is_failing_name(key))
        return value if self._may_stay(value, is_message=is_message) else WITHHELD

    def _may_stay(self, text: str, *, is_message: bool) -> bool:
        if text in self._kept or not text or MACHINE_CODE.fullmatch(text):
            return True
        if (not is_message and self._is_code(text)) or is_finish_word(text):
            return True
        if is_message and (len(text) > _LONGEST_STOP or not _STOP.search(text)):
            return False
        if is_message and self._is_code(text):
            return True
        text = _ID.sub("id", text)
        return not is_exception_text(text) and self._redact(text) == text
