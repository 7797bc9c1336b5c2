"""Reads recorded bodies: detects their framing and returns their frames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from streamweir.errors import StreamweirError
from streamweir.framing import Frame, LinesParser, SniffingParser
from streamweir.optional_json import json_or

__all__ = ["NO_JSON", "Observed", "framing_of", "observe"]

NO_JSON: Final = object()
"""The value of `Observed.message` for a frame whose data is not JSON."""

MAX_FRAMES: Final = 20_000
"""The most frames that are read."""

_LIMIT: Final = 64 << 20
_SSE_LINE: Final = re.compile(rb"^(?:data|event|id|retry)?:", re.MULTILINE)
_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,30})(?:[ \t:|]|$)")
_TAG: Final = re.compile(r"([A-Za-z0-9]{1,2}):(?=[\[{\"])")
"""Matches one or two characters before JSON, as in `0:"Hel"`."""
_MOST_PREFIXES: Final = 12


class Observed(NamedTuple):
    """One frame of one body.

    Attributes:
        number: the index of the frame among all frames.
        body: the index of the body that contains it.
        frame: the frame.
        message: the JSON of the frame; `NO_JSON` if the frame is text.
    """

    number: int
    body: int
    frame: Frame
    message: Any

    @property
    def text(self) -> str:
        """The raw text of the frame."""
        return self.frame.text


def framing_of(body: bytes) -> str | None:
    """Return the framing of a body: sse, ndjson, lines or text; None if the body is not text."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and not text.endswith(("\n", "\r")) and not _is_json(lines[-1]):
        lines.pop()  # it may be cut
    if not lines or "\0" in text:
        return None
    if len(_SSE_LINE.findall(body)) * 2 >= len(lines):
        return "sse"
    if _is_json(text) or sum(map(_is_json, lines)) * 10 >= len(lines) * 9:
        return "ndjson"
    return "lines" if prefixes_of(lines) else "text"


def prefixes_of(lines: Iterable[str]) -> list[str]:
    """Return the possible first words of lines, if nearly all lines begin with one of a few words."""
    lines = [*lines]
    if all(map(_TAG.match, lines)):
        return [word for word, _ in Counter(line.partition(":")[0] for line in lines).most_common()]
    found = Counter(match[1] for line in lines if (match := _PREFIX.match(line)))
    shouted = {word: count for word, count in found.items() if word.isupper() or count > 1}
    if sum(shouted.values()) * 10 < len(lines) * 9 or not 1 <= len(shouted) <= _MOST_PREFIXES:
        return []
    return [*shouted] if all(word.isupper() for word in shouted) or len(shouted) * 3 <= len(lines) else []


def observe(bodies: Iterable[bytes], framing: str) -> list[Observed]:
    """Return the frames of all bodies in order; half a frame at the end of a body is left out."""
    frames = (
        (number, frame, message)
        for number, body in enumerate(bodies)
        for frame in _frames(body, framing)
        if (message := _message_of(frame, framing)) is not NO_JSON or not _may_be_cut(frame, framing)
    )
    return [
        Observed(place, number, frame, message)
        for place, (number, frame, message) in enumerate(islice(frames, MAX_FRAMES))
    ]


def _may_be_cut(frame: Frame, framing: str) -> bool:
    """Return whether a frame without JSON may begin JSON. A mark such as `[DONE]` is complete."""
    if not frame.unterminated or framing not in ("sse", "ndjson"):
        return False
    text = frame.text.strip()
    return framing == "ndjson" or not text or text[0] in '{"' or (text[0] == "[" and text[-1] != "]")


def _frames(body: bytes, framing: str) -> list[Frame]:
    parser = LinesParser(_LIMIT) if framing == "lines" else SniffingParser(_LIMIT, expected=framing)
    try:
        return [*parser.feed(body), *parser.finish()]
    except StreamweirError:
        return []


def _message_of(frame: Frame, framing: str) -> Any:
    return NO_JSON if framing == "lines" or not frame.data else frame.json_or(NO_JSON)


def _is_json(text: str) -> bool:
    return isinstance(json_or(text), dict | list | str)
