"""What people get wrong in YAML, called what it is: its own messages speak of tokens and blocks."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["fault_in_words"]

_LOOKED_BACK: Final = 3
"""So many lines before the one where YAML stumbles may hold the cause."""

_REFERENCE: Final = re.compile(r"(?<!\$)[\[{][^\"'#\[{]*\$\{")
"""`${` within brackets, with no quotation mark before it; a match begins at the last bracket alone, once."""

_TAB: Final = re.compile(r"[ ]*\t")
_KEY_LINE: Final = re.compile(r"([ ]*)(?:- )?[^\s#:'\"][^:]*:(?:\s|$)")


def fault_in_words(text: str, line: int, column: int) -> str | None:
    """Return what is wrong where YAML stumbles; None where that is nothing of the usual.

    Args:
        text: of the file.
        line: where, from 0.
        column: likewise.
    """
    lines = text.splitlines()
    near = [one for one in lines[max(0, line - _LOOKED_BACK) : line + 1] if one.strip()]
    if any(map(_TAB.match, near[-2:])):
        return "a tab: YAML is indented with spaces"
    if any(map(_REFERENCE.search, near)):
        return 'inside { } and [ ] a ${NAME} must be in quotes: "${NAME}"'
    if near and _is_deeper_than_expected(near):
        return "this line is indented more, or less, than the keys beside it"
    del column
    return None


def _is_deeper_than_expected(near: list[str]) -> bool:
    """Whether the last line is a key at a depth that no line before it has begun."""
    found = [match for match in map(_KEY_LINE.match, near) if match is not None]
    if len(found) < 2 or found[-1].string is not near[-1]:
        return False
    *before, last = (len(match[1]) for match in found)
    return last not in before
