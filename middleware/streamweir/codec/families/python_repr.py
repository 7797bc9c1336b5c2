"""Reads Python's `repr` of objects: `Interrupt(value={'a': 1}, id='i')`, if a server sends no better form.

Source: `json.dumps(..., default=str)` of home-made servers; langchain-core (`load/dump.py`), which writes
`{"type": "not_implemented", "repr": ...}` for an object that it cannot serialise. Only literals are read; no
code is run.
"""

from __future__ import annotations

import re
from ast import Constant, parse
from typing import Any, Final

__all__ = ["CLASS", "value_of_repr"]

CLASS: Final = "__class__"
"""The key that holds the name of the class in an object that was read."""

_LONGEST: Final = 64 << 10
"""The longest text that is read, in characters."""
_DEEPEST: Final = 30

_BLANK: Final = re.compile(r"[\s,]*+")
_STRING: Final = re.compile(r"""(?:'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")""")
_WORD: Final = re.compile(r"[A-Za-z_][\w.]*+")
_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9.eE+-]{0,40}+")
_WORDS: Final = {"None": None, "True": True, "False": False}
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


def value_of_repr(text: str) -> Any:
    """Return the value of `text`. Literals are read as they are; an object becomes a mapping with its fields
    and the name of its class.

    A text may also be a sequence of fields without a class, like the texts of LangChain's messages.

    Returns:
        The value; None if the text is longer than 64 KiB, nests too deeply, or is no such `repr`.
    """
    if len(text) > _LONGEST:
        return None
    reader = _Reader(text)
    try:
        value = reader.fields("") if reader.is_field() else reader.value(0)
        return value if reader.is_over() else None
    except (ValueError, SyntaxError, IndexError):
        return None


def _string(literal: str) -> Any:
    """Return the text of a string literal, without the reference cycles that `literal_eval` makes."""
    match parse(literal, mode="eval").body:
        case Constant(value=str(text)):
            return text
    raise ValueError("no string")


def _number(literal: str) -> int | float:
    try:
        return int(literal)
    except ValueError:
        return float(literal)


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def is_over(self) -> bool:
        self._skip()
        return self._at == len(self._text)

    def is_field(self) -> bool:
        word = _WORD.match(self._text, self._at)
        return word is not None and self._text.startswith("=", word.end())

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        self._skip()
        if found := _STRING.match(self._text, self._at):
            self._at = found.end()
            return _string(found[0])
        if found := _NUMBER.match(self._text, self._at):
            self._at = found.end()
            return _number(found[0])
        if found := _WORD.match(self._text, self._at):
            self._at = found.end()
            return self._named(found[0], depth)
        return self._container(depth)

    def fields(self, closing: str, depth: int = 0) -> dict[str, Any]:
        """Return the fields up to `closing`. A value without a name has its number as the key."""
        found: dict[str, Any] = {}
        while not self._closes(closing):
            name = str(len(found))
            if self.is_field():
                word = _WORD.match(self._text, self._at)
                assert word is not None
                name, self._at = word[0], word.end() + 1
            found[name] = self.value(depth + 1)
        return found

    def _named(self, name: str, depth: int) -> Any:
        if name in _WORDS:
            return _WORDS[name]
        if not self._text.startswith("(", self._at):
            raise ValueError("a name that stands for nothing")
        self._at += 1
        return {CLASS: name, **self.fields(")", depth)}

    def _container(self, depth: int) -> Any:
        opening = self._text[self._at]
        closing = _CLOSING.get(opening, "")
        if not closing:
            raise ValueError("no literal")
        self._at += 1
        return self._mapping(depth) if opening == "{" else self._items(closing, depth)

    def _items(self, closing: str, depth: int) -> list[Any]:
        found = []
        while not self._closes(closing):
            found.append(self.value(depth + 1))
        return found

    def _mapping(self, depth: int) -> dict[str, Any]:
        found = {}
        while not self._closes("}"):
            key = self.value(depth + 1)
            self._skip()
            if self._text[self._at] != ":":
                raise ValueError("no key")
            self._at += 1
            found[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
        return found

    def _closes(self, closing: str) -> bool:
        """Return whether the container ends at the position; if so, move the position after the end."""
        self._skip()
        if not closing:
            return self._at == len(self._text)
        if self._text[self._at] != closing:
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
