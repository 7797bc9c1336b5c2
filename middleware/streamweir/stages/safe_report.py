"""What is left of the report of a failed step: numbers, flags, ids and machine codes, and no sentence.

Source: the standard protocol 1.1, section 3 rule 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from streamweir.classification.failure_signs import field_name
from streamweir.classification.finish_words import is_finish_word
from streamweir.errors import MACHINE_CODE
from streamweir.redaction import REDACTED, is_secret_name

__all__ = ["SENTENCES", "WITHHELD", "SafeReport"]

T = TypeVar("T")

WITHHELD: Final = "[withheld]"

SENTENCES: Final = re.compile(
    r"[a-z0-9]{0,64}(?:message|msg|text|reason|detail|description|cause|trace|stack|output|hint|title|stderr|stdout)s?"
    r"|(?:err|error|exception|exc|fault|failure)(?:s|string|str|info|value)?|value|values|data|content|result|args"
)
"""The fields that hold sentences, even where it is one of a single word."""
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_]{1,40}")
_MOST_TEXTS: Final = 64
"""So many texts of one report are looked into."""
_MOST_VALUES: Final = 1000
"""So many fields and items a report keeps; what is larger was not written to be read."""


class SafeReport:
    """Copies the report of a failed step, every text of it that is no id and no machine code withheld.

    Args:
        is_code: whether a text is an id or a code, and no key in disguise.
    """

    def __init__(self, is_code: Callable[[str], bool]) -> None:
        self._is_code = is_code
        self._texts_left = _MOST_TEXTS
        self._values_left = _MOST_VALUES

    def copy_fields(self, fields: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a copy of an object; the values of secrets go whole."""
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
