"""Facts in the headers of an answer that its body does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

__all__ = ["AnswerHeaders", "found_in"]

AnswerHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]


def found_in(headers: AnswerHeaders, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Return the named groups of the patterns; each is searched in the headers with its lower-case name."""
    found: dict[str, str] = {}
    for name, value in headers:
        pattern = patterns.get(name.decode("latin-1").lower())
        match = None if pattern is None else pattern.search(value.decode("latin-1"))
        if match is not None:
            found.update({group: text for group, text in match.groupdict().items() if text})
    return found
