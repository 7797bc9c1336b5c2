"""What writes one character in the place of another, undone before any rule looks at a text.

JSON's escapes, full width, letters that only look like those of the word around them.
"""

from __future__ import annotations

import re
import string
from typing import Final

__all__ = ["CONTROLS", "unmasked"]

CONTROLS: Final = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)]),  # C0 and C1
    **dict.fromkeys(
        [0xAD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    ),  # unseen, bidi
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # half a character is no Unicode
    **dict.fromkeys([ord("\n"), 0x85, 0x2028, 0x2029], "\n"),
    ord("\t"): " ",
}

_WIDE: Final = f"{string.ascii_letters}{string.digits}=@_-./"
"""What is no punctuation of a Chinese sentence, and may be written in full width all the same."""

_JSON_ESCAPE: Final = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|(?=/))")
_FULL_WIDTH: Final = {0xFF01 + code: 0x21 + code for code in range(0x5E) if chr(0x21 + code) in _WIDE}
_LOOK_ALIKES: Final = str.maketrans("аеорсухіјѕԁһԛԝѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxijsdhqwvABEZHIKMNOPTYXo")
_WORD: Final = re.compile(r"\w+")
_LATIN: Final = re.compile(r"[A-Za-z]")


def unmasked(text: str) -> str:
    """Undo JSON's escapes, full width, and letters that only look like those of a word around them."""
    if "\\" in text:
        text = _JSON_ESCAPE.sub(_unescaped, text)
    if text.isascii():
        return text
    return _WORD.sub(_without_look_alikes, text.translate(_FULL_WIDTH))


def _without_look_alikes(word: re.Match[str]) -> str:
    return word[0].translate(_LOOK_ALIKES) if _LATIN.search(word[0]) else word[0]


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return ""
    character = chr(int(escape[1], 16))
    return character if character.isprintable() else character.translate(CONTROLS)
