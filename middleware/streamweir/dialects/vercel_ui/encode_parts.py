"""Writes parts of text and of reasoning: begun, continued and ended by an id that counts per stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.dialects.vercel_ui.shared_metadata import with_own_words
from streamweir.events import Content, Thinking

__all__ = ["OpenParts"]

Chunk = dict[str, Any]

MAX_OPEN: Final = 1000
_PART: Final = 4096
"""The most bytes that an open text takes, for its message id and its channel."""


class OpenParts:
    """The open parts: texts by message and channel, because several agents may write at the same time, and
    one reasoning.

    If there are too many texts, the oldest one is ended before another one begins.

    Args:
        room: the number of bytes, roughly, of open parts that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._most = min(MAX_OPEN, max(1, room // _PART))
        self._texts: dict[tuple[str | None, str | None], str] = {}
        self._reasoning = ""
        self._stage: str | None = None
        self._begun = 0

    def write_text(self, event: Content) -> list[Chunk]:
        """Return the chunks that add the text of `event`, after the start of its part if it is new."""
        part = self._texts.get(_key(event))
        if part is not None:
            return [_piece("text", part, event.content)]
        begin = self._begin_text(event)
        return [*begin, _piece("text", self._texts[_key(event)], event.content)]

    def sign_text(self, event: Content, metadata: Chunk) -> list[Chunk]:
        """Return the end of the text of `event`, with metadata; its start comes first if it is new."""
        begin = [] if _key(event) in self._texts else self._begin_text(event)
        return [*begin, {**_end("text", self._texts.pop(_key(event))), "providerMetadata": metadata}]

    def _begin_text(self, event: Content) -> list[Chunk]:
        begin = self._end_reasoning()
        if len(self._texts) >= self._most:
            begin.append(_end("text", self._texts.pop(next(iter(self._texts)))))
        part = self._texts[_key(event)] = self._new_id("text")
        return [*begin, _start("text", part, {"channel": event.channel, "format": event.format})]

    def end_text(self, event: Content) -> list[Chunk]:
        """Return the end of the text of `event`, if it is open."""
        part = self._texts.pop(_key(event), None)
        return [] if part is None else [_end("text", part)]

    def write_reasoning(self, event: Thinking) -> list[Chunk]:
        """Return the chunks that add a piece of reasoning, after the start of its part if it is new."""
        begin = self._begin_reasoning(event)
        return [*begin, _piece("reasoning", self._reasoning, event.content)]

    def sign_reasoning(self, event: Thinking, metadata: Chunk) -> list[Chunk]:
        """Return the end of the reasoning, with metadata; if no reasoning is open, its start comes first."""
        begin = self._begin_reasoning(event)
        (end,) = self._end_reasoning()
        return [*begin, {**end, "providerMetadata": metadata}]

    def _begin_reasoning(self, event: Thinking) -> list[Chunk]:
        if self._reasoning and self._stage == event.stage:
            return []
        begin = self.end_all()
        self._reasoning, self._stage = self._new_id("reasoning"), event.stage
        return [*begin, _start("reasoning", self._reasoning, {"stage": event.stage})]

    def end_all(self) -> list[Chunk]:
        """Return the ends of all open parts."""
        ended = [_end("text", part) for part in self._texts.values()]
        self._texts.clear()
        return [*ended, *self._end_reasoning()]

    def _end_reasoning(self) -> list[Chunk]:
        ended, self._reasoning = self._reasoning, ""
        return [_end("reasoning", ended)] if ended else []

    def _new_id(self, kind: str) -> str:
        self._begun += 1
        return f"{kind}-{self._begun}"


def _key(event: Content) -> tuple[str | None, str | None]:
    return event.meta.get("message_id") if event.meta else None, event.channel


def _start(kind: str, part: str, own: Mapping[str, str | None]) -> Chunk:
    return with_own_words({"type": f"{kind}-start", "id": part}, own)


def _piece(kind: str, part: str, text: str) -> Chunk:
    return {"type": f"{kind}-delta", "id": part, "delta": text}


def _end(kind: str, part: str) -> Chunk:
    return {"type": f"{kind}-end", "id": part}
