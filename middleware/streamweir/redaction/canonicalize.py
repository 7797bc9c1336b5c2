"""The visible form of a text, and the plain form in which the rules search.

The characters of a secret may be escaped for JSON, HTML or a URL, may be full width or look-alikes of another
script, and may have invisible characters between them. In the plain form they are ordinary characters.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from streamweir.lazy_pattern import LazyPattern

__all__ = ["CONTROLS", "canonical", "visible"]

CONTROLS: Final = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]),  # C0 and C1
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # lone surrogates
    **dict.fromkeys([ord("\n"), 0x85, 0x2028, 0x2029], "\n"),
    ord("\t"): " ",
}

_ANSI: Final = LazyPattern(
    r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][0-9]{1,4};[^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?"
)

_IGNORED: Final = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default-ignorable code points (Unicode 15.1, DerivedCoreProperties.txt)."""

_PICTURE: Final = "[\xa9\xae\u2100-\u2bff\U0001f000-\U0001faff]"
_UNSEEN: Final = LazyPattern(f"[{_IGNORED}]")
_UNSEEN_AND_USELESS: Final = LazyPattern(
    # joiners and variation selectors change the visible text
    rf"(?!(?<={_PICTURE})\ufe0f|\u200d{_PICTURE}|\u200c[\u0600-\u06ff])[{_IGNORED}]"
)

_ESCAPE: Final = LazyPattern(
    r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(x[0-9a-fA-F]{2}(?:\\++x[0-9a-fA-F]{2}){0,400})"
    r"|([0-3][0-7]{2})|(?=/))"
)
_HEX: Final = re.compile(r"x(..)")
_ENTITY: Final = LazyPattern(r"&(?:#(\d{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|([A-Za-z][A-Za-z0-9]{1,30};))")
_LEVELS: Final = 3  # three levels of JSON in JSON occur in the field; more do not

_SENTENCE_MARK: Final = "[，：；！？（）［］【】《》～…。、]"
_IDEOGRAM: Final = "[^\\x00-\u2e7f\uff00-\uff5e\uffe0-\uffff]"
_SENTENCE_MARKS: Final = LazyPattern(rf"((?<={_IDEOGRAM}){_SENTENCE_MARK}|{_SENTENCE_MARK}(?={_IDEOGRAM}))")
"""Matches Chinese punctuation, which stays full width unless it is between two Latin characters."""

_SPACES: Final = LazyPattern(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LEFT_OVER_MARKS: Final = LazyPattern("(?<=[A-Za-z0-9_])[\u0300-\u036f\u20d0-\u20f0]{1,400}")

_LOOK_ALIKES: Final = str.maketrans("аеорсухіјѕԁһԛԝѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxijsdhqwvABEZHIKMNOPTYXo")
_WORD: Final = LazyPattern(r"\w+")
_LATIN: Final = LazyPattern("[A-Za-z]")


def visible(text: str) -> str:
    """Return `text` without control characters, escape sequences and invisible characters."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.translate(CONTROLS)
    return text if text.isascii() else _UNSEEN_AND_USELESS.sub("", text)


def canonical(text: str) -> str:
    """Return the plain form of a `visible` text."""
    if "\\" in text or "&" in text:
        text = _without_escapes(text)
    if text.isascii():
        return text
    text = "".join(
        piece if index % 2 else unicodedata.normalize("NFKC", piece)
        for index, piece in enumerate(_SENTENCE_MARKS.split(_UNSEEN.sub("", text)))
    )
    text = _LEFT_OVER_MARKS.sub("", _SPACES.sub(" ", text))
    return _WORD.sub(_without_look_alikes, text)


def _without_escapes(text: str) -> str:
    for _ in range(_LEVELS):
        plain = _ENTITY.sub(_entity, _ESCAPE.sub(_escaped, text))
        if plain == text:
            break
        text = plain
    return text


def _escaped(escape: re.Match[str]) -> str:
    four, braced, bytes_, octal = escape.groups()
    if bytes_ is not None:
        return _shown(bytes.fromhex("".join(_HEX.findall(bytes_))).decode("utf-8", "replace"))
    if octal is not None:
        return _character(int(octal, 8))
    return _character(int(four or braced, 16)) if four or braced else ""


def _entity(entity: re.Match[str]) -> str:
    decimal, hexadecimal, name = entity.groups()
    if name is not None:
        from html.entities import html5  # noqa: PLC0415 - a seventeenth of the import of streamweir

        return html5.get(name, entity[0])
    return _character(int(decimal) if decimal else int(hexadecimal, 16))


def _character(code: int) -> str:
    return _shown(chr(code)) if code <= 0x10FFFF else "\ufffd"


def _shown(text: str) -> str:
    return text if text.isprintable() else _UNSEEN.sub("", text.translate(CONTROLS))


def _without_look_alikes(word: re.Match[str]) -> str:
    return word[0].translate(_LOOK_ALIKES) if not word[0].isascii() and _LATIN.search(word[0]) else word[0]
