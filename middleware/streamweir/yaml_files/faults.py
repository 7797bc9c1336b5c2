"""Common mistakes in YAML, in plain words: YAML's own messages speak of tokens and blocks."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ruamel.yaml.error import MarkedYAMLError, StringMark

__all__ = ["YamlFault", "fault_in_words"]

_LOOKED_BACK: Final = 3
"""The number of lines before YAML's error that may contain its cause."""

_REFERENCE: Final = re.compile(r"(?<!\$)[\[{][^\"'#\[{]*\$\{")
"""Matches `${` within brackets without a quotation mark before it, from the last opening bracket on."""

_TAB: Final = re.compile(r"[ ]*\t")
_KEY_LINE: Final = re.compile(r"([ ]*)(?:- )?[^\s#:'\"][^:]*:(?:\s|$)")
_PLAIN_TEXT: Final = re.compile(r"[ ]*(?:- )?[^\s#:'\"{\[][^:]*: +[^\s#'\"{\[|>&*!].*:$")
"""Matches a key and the beginning of its unquoted text, up to a further colon."""

_GLUED: Final = re.compile(r"[ ]*(?:- )?[A-Za-z_]+ ?[=:](?!//)[^\s=:]")
"""Matches a key and its value if they are not separated by a colon and a space."""

_NO_KEY: Final = "is no `KEY: VALUE`; a space stands behind the colon"
_IN_QUOTES: Final = "must be in quotes"
_INDENTATION: Final = "this line is indented more, or less, than the keys beside it"

_OPENED: Final = {
    "found unexpected end of stream": "the quotation mark here is not closed",
    "could not find expected ':'": f"this line {_NO_KEY}",
}
"""For each message of YAML, the construct that begins before the position of the error."""

_HERE: Final = {
    "found undefined alias": "no anchor `&NAME` before this `*NAME`; a text may begin with * in quotes only",
    "that cannot start any token": f"a text that begins with @, % or ` {_IN_QUOTES}",
    "expected ',' or": "a bracket, { or [, is not closed, or a comma is missing",
    "found another document": "a second document begins here; a file holds one",
}


class YamlFault(NamedTuple):
    """The reason why a text is not YAML."""

    mark: StringMark | None
    """The position; None if it is unknown."""
    words: str


def fault_in_words(text: str, error: MarkedYAMLError) -> YamlFault:
    """Return the problem at the place of YAML's error.

    Args:
        text: the text of the file.
        error: the error of the YAML parser.
    """
    mark: StringMark | None = error.problem_mark or error.context_mark
    problem = " ".join(str(error.problem).split()).removeprefix("but ")
    lines = text.splitlines()[: mark.line + 1] if mark else []
    near = [one for one in lines[-_LOOKED_BACK - 1 :] if one.strip()]
    is_tab = mark is not None and len(lines) > mark.line and lines[mark.line][mark.column :][:1] == "\t"
    if is_tab or any(map(_TAB.match, near[-2:])):
        return YamlFault(mark, "a tab: YAML is indented with spaces")
    if any(map(_REFERENCE.search, near)):
        return YamlFault(mark, 'inside { } and [ ] a ${NAME} must be in quotes: "${NAME}"')
    if (opened := _OPENED.get(problem)) is not None:
        return YamlFault(error.context_mark or mark, opened)
    here = next((words for part, words in _HERE.items() if part in problem), None)
    return YamlFault(mark, here or (_about_keys(near, mark) if near and mark else None) or problem)


def _about_keys(near: list[str], mark: StringMark) -> str | None:
    """Return the mistake at a key that YAML does not expect, or on the line before; None if not known."""
    *before, last = near
    if _PLAIN_TEXT.match(last[: mark.column + 1]):
        return f"a text that holds a colon and a space {_IN_QUOTES}"
    if before and _GLUED.match(before[-1]):
        return f"the line before this one {_NO_KEY}"
    return _INDENTATION if _is_deeper_than_expected(near) else None


def _is_deeper_than_expected(near: list[str]) -> bool:
    """Return whether the last line is a key that is indented deeper than the lines before it allow."""
    found = [match for match in map(_KEY_LINE.match, near) if match is not None]
    if len(found) < 2 or found[-1].string is not near[-1]:
        return False
    *before, last = (len(match[1]) for match in found)
    return last not in before
