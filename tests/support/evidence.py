"""What completes a stream of a dialect, as its page says: no word of the decoder's own goes into it."""

import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from streams import Recorded
from streamweir.codec.dialects import Dialects

END_OF_STANDARD: Final = re.escape('"session_end"')
"""Events of the standard may stand among those of any dialect."""


class Evidence(NamedTuple):
    """What has to stand in a stream that completes, and whether the end of its body may complete it too."""

    marks: re.Pattern[bytes]
    ends_at_eof: bool


@cache
def evidence_of(dialect: str) -> Evidence:
    """Return what the paragraph `Complete when:` of the dialect's page names in code.

    Raises:
        AssertionError: the page has no such paragraph.
    """
    package = Dialects.built_in()[dialect].package
    page = (files(package) / "README.md").read_text("utf-8") if package else ""
    found = re.search(r"^Complete when: (.*?)(?:\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"the page of {dialect} does not say what completes a stream (`Complete when: ...`)"
    marks = [END_OF_STANDARD, *map(_expression, re.findall(r"`([^`]+)`", found[1]))]
    return Evidence(re.compile("|".join(marks).encode()), "end of the body" in " ".join(found[1].split()))


def ends_at_eof(stream: Recorded) -> bool:
    """May the end of its body complete a stream like this one, which its dialect or an option says?"""
    return evidence_of(stream.dialect).ends_at_eof or "eof" in stream.options.values()


def _expression(mark: str) -> str:
    """Return the expression that finds a mark in a body.

    `[DONE]` stands there as it is, `event: done` is a field, `done` is a string or the name of an event, and
    `d` is the letter before the colon of a line.
    """
    key, colon, value = mark.partition(": ")
    if colon:
        return rf'(?:^|[\r\n]|"){re.escape(key)}"?\s*:\s*"?{re.escape(value)}\b'
    if mark.startswith("["):
        return re.escape(mark)
    if len(mark) == 1:
        return rf"(?:^|[\r\n]){mark}:"
    return rf'"{re.escape(mark)}"|(?:^|[\r\n])event:\s*{re.escape(mark)}\b'
