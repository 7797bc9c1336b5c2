"""Compiles `ignore` and `terminal`: frames that are recognised by a word or by a match.

Source: the dialect-file contract, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.mapped.matches import Match, compile_match
from streamweir.codec.mapped.problems import quoted
from streamweir.codec.mapped.section import Section
from streamweir.expressions import Path
from streamweir.framing import Frame
from streamweir.optional_json import json_or

__all__ = ["EOF", "UNNAMED", "Words", "compile_words", "frame_name"]

EOF: Final = "eof"
"""The value of `terminal` for the end of the body, in place of a message."""

_NAME_FIELDS: Final = ("type", "event", "kind")
UNNAMED: Final = "message"
"""The SSE event name of a frame without a name."""


class Words:
    """Compiled words and matches.

    Attributes:
        ends_at_eof: whether `eof`, the end of the body, is one of the words.
    """

    def __init__(self, words: list[str], matches: list[Match]) -> None:
        self.ends_at_eof = EOF in words
        self._words = frozenset(words) - {EOF}
        self._texts = frozenset(word.encode() for word in self._words)
        self._matches = tuple(match.fits for match in matches)
        self._reads = frozenset(path for match in matches for path in match.reads())

    def __bool__(self) -> bool:
        return bool(self._words or self._matches)

    def take(self, frame: Frame, message: Any) -> bool:
        """Return whether a frame fits a word, by its name or its whole text, or fits a match."""
        if self._words and (frame_name(frame, message) in self._words or frame.data.strip() in self._texts):
            return True
        for fits in self._matches:  # noqa: SIM110 (a loop is half the cost of `any`)
            if fits(message):
                return True
        return False

    @property
    def reads(self) -> frozenset[Path]:
        """The places of the message that the matches and words read."""
        if any(isinstance(json_or(text), dict | list) for text in self._texts):
            return frozenset({()})
        names = {(name,) for name in _NAME_FIELDS} if self._words else set()
        return self._reads | names


def compile_words(section: Section, key: str) -> Words:
    """Return the words under `ignore` or `terminal` that have no problem."""
    words, matches = [], []
    for path, value in section.items(key, "a list of words and matches"):
        if isinstance(value, str):
            words.append(value)
        elif isinstance(value, Mapping):
            match = compile_match(value, path, section.report)
            matches += [match] if match else []
        else:
            section.report.at_value(path, "must be a word, or a match: `{field: value}`", quoted(value))
    if key == "ignore" and EOF in words:
        section.wrong(key, f"`{EOF}` stands only under `terminal`")
    return Words(words, matches)


def frame_name(frame: Frame, message: Any) -> str | None:
    """Return the name of a frame: its SSE event name, or the first of `type`, `event`, `kind` with text."""
    if frame.event is not None and frame.event != UNNAMED:
        return frame.event
    return next(_names_in(message), None) if isinstance(message, dict) else None


def _names_in(message: Mapping[str, Any]) -> Iterator[str]:
    for field in _NAME_FIELDS:
        value = message.get(field)
        if isinstance(value, str) and value:
            yield value
