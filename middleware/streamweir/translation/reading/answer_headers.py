"""Reads facts from the headers of an answer that are missing in its body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

__all__ = ["AnswerHeaders", "found_in"]

AnswerHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]


def found_in(headers: AnswerHeaders, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Return the values of the named groups in the patterns; each pattern is searched in the header that it
    is listed under (lower case).
    """
    found: dict[str, str] = {}
    for name, value in headers:
        pattern = patterns.get(name.decode("latin-1").lower())
        match = None if pattern is None else pattern.search(value.decode("latin-1"))
        if match is not None:
            found.update({group: text for group, text in match.groupdict().items() if text})
    return found
