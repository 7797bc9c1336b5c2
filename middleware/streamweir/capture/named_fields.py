"""Finds secrets whose names are beside their values, and not their keys.

    form                                      example
    ───────────────────────────────────────   ────────────────────────────────────────────────────────
    an object with a name and a value         `{"name": "api_key", "value": "x1"}`, in either order
    a pair in a list of pairs                 `[["authorization", "Digest x1"]]`
    an element of XML                         `<password>x1</password>`
    a field of a form in parts                `form-data; name="password"`, an empty line, `x1`

`named_values.py` tells which values are secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.capture.named_values import end_of_value, secret_spans
from streamweir.redaction.secret_names import is_secret_name

__all__ = ["has_fields", "named_fields"]

_QUOTE: Final = r"""(?P<quote>\\{0,8}["'])"""
_NAMED: Final = re.compile(
    rf"{_QUOTE}(?i:name|key|k|header|field|param|parameter|variable)(?P=quote)[ \t]?:\s{{0,64}}"
    r"(?P=quote)(?P<name>[\w.$-]{1,64})(?P=quote)"
)
"""Matches the member of an object that says the name of the object's value."""
_MEMBER: Final = re.compile(
    rf"\s{{0,64}},\s{{0,64}}{_QUOTE}(?!(?i:val|value|v)(?P=quote))[\w-]{{1,32}}(?P=quote)[ \t]?:\s{{0,64}}"
    r"""(?:(?P=quote)[^"'\\]{0,200}(?P=quote)|[\w.+-]{1,32})"""
)
"""Matches another member between the name and the value."""
_MOST_MEMBERS: Final = 4
_VALUE: Final = re.compile(
    rf"\s{{0,64}}[,{{]\s{{0,64}}{_QUOTE}(?i:val|value|v)(?P=quote)[ \t]?:\s{{0,64}}(?P=quote)"
)
_END_OF_MEMBER: Final = re.compile(r"\s{0,64},\s{0,64}\Z")
_LONGEST_BEFORE: Final = 1024
"""The most characters before the name in which its value is looked for."""
_PAIR: Final = re.compile(
    rf"(?P<open>[\[(])\s{{0,64}}b?{_QUOTE}(?P<name>[\w.$-]{{1,64}})(?P=quote)\s{{0,64}},\s{{0,64}}b?(?P=quote)"
)
_END_OF_PAIR: Final = re.compile(r"""\\{0,8}["']\s{0,64}(?:[\])]|\Z)""")
_BEFORE_PAIR: Final = ("[", "],", "),")
_LONGEST_GAP: Final = 64
_ELEMENT: Final = re.compile(
    r"<(?P<tag>(?:[\w-]{1,32}:)?(?P<name>[\w.-]{1,64}))(?:\s[^<>]{0,200})?>\s{0,64}(?:<!\[CDATA\[)?"
)
_ELEMENT_VALUE: Final = re.compile(
    r"""[^<>"\]\n]{4,4096}(?=\s{0,64}(?:\]\]>\s{0,64})?(?:</(?P<tag>[\w.:-]{1,97})|\Z))"""
)
_PART: Final = re.compile(
    r"""form-data;[ ]?name=["']?(?P<name>[^"'\r\n;]{1,64})[^\r\n]{0,200}(?P<line>\r?\n)"""
    r"(?:[^\r\n]{1,200}(?P=line)){0,4}(?P=line)"
)
_DIGITS: Final = frozenset("0123456789")


_SIGNS: Final = ("alue", '"v', '"]', '"\n', "')", "</", ">\n", "form-data")
"""Each of the forms contains one of them."""


def has_fields(text: str) -> bool:
    """Return whether a text in which the name of a secret occurs may have one of the forms."""
    return any(sign in text for sign in _SIGNS)


def named_fields(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the secrets that are beside their names, in any order."""
    for match in _NAMED.finditer(text):
        if is_secret_name(match["name"]):
            yield from _of_object(text, match)
    for match in _PAIR.finditer(text):
        if is_secret_name(match["name"]):
            yield from _of_pair(text, match)
    for match in _ELEMENT.finditer(text):
        value = _ELEMENT_VALUE.match(text, match.end()) if is_secret_name(match["name"]) else None
        is_line = "\n" in match[0]  # whose end may be in the next read
        if value is not None and (value["tag"] == match["tag"] or (value["tag"] is None and is_line)):
            yield from secret_spans(match["name"], text, *value.span())
    yield from _of_parts(text)


def _of_object(text: str, named: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the span of the value of an object, behind its name or before it."""
    name, quote, place = named["name"], named["quote"], named.end()
    for _ in range(_MOST_MEMBERS):
        member = _MEMBER.match(text, place)
        if member is None or member["quote"] != quote:
            break
        place = member.end()
    value = _VALUE.match(text, place)
    if value is not None and value["quote"] == quote:
        yield from secret_spans(name, text, value.end(), end_of_value(text, value.end(), quote))
        return
    before = text.rfind("{", max(0, named.start() - _LONGEST_BEFORE), named.start())
    value = _VALUE.match(text, before) if before >= 0 else None
    if value is not None and value["quote"] == quote:
        end = end_of_value(text, value.end(), quote)
        if end < named.start():
            yield from secret_spans(name, text, value.end(), end)


def _of_parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values of a form in parts. The last value may have no end."""
    end = 0
    for match in _PART.finditer(text):
        if match.start() >= end and is_secret_name(match["name"]):
            end = text.find(match["line"] + "--", match.end())
            end = len(text) if end < 0 else end
            yield from secret_spans(match["name"], text, match.end(), end)


def _of_pair(text: str, pair: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the span of the second text of a pair. Two names in a list, without a digit, are no pair."""
    before = text[max(0, pair.start() - _LONGEST_GAP) : pair.start()].rstrip()
    if pair["open"] == "[" and not before.endswith(_BEFORE_PAIR):
        return
    end = end_of_value(text, pair.end(), pair["quote"])
    if _END_OF_PAIR.match(text, end) and not _DIGITS.isdisjoint(text[pair.end() : end]):
        yield from secret_spans(pair["name"], text, pair.end(), end)
