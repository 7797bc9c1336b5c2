"""Reads RAGFlow's OpenAI-compatible answers, of chats and of agents: chunks with more fields in the delta.

Source: infiniflow/ragflow `api/apps/restful_apis/openai_api.py`, `api/db/services/canvas_service.py` at
b1b8cd6 of 2026-08-22 (v0.19.1 for the chunks with a `message`),
`internal/handler/agent_openai.go` for the Go server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from streamweir.codec.coerce import custom
from streamweir.codec.families.openai_chunks import ChunkReader
from streamweir.codec.families.plain_chunks import PlainChunk
from streamweir.codec.families.ragflow_citations import NewReferences
from streamweir.codec.families.ragflow_failures import AnswerLine, error_in_text
from streamweir.codec.families.ragflow_forms import interaction
from streamweir.codec.families.think_tags import Passage, TaggedText
from streamweir.events import Content, Event, Meta, SessionEnd, Status, Thinking, Whole

__all__ = ["RagflowChunkReader"]

_RUNNING: Final = re.compile(r"\s{0,8}\*'(.{0,256}?)'\* is running\W{0,64}\Z")

_ADDED: Final = frozenset({"reference", "final_content", "waiting_for_user", "error"})
"""The fields that the server adds to a delta."""

_OWN: Final = _ADDED - {"error"}

_NULLED: Final = frozenset({"role", "content", "function_call", "tool_calls"})
"""The fields of a delta mostly null: every chunk of the server repeats the role and has all fields."""


class RagflowChunkReader(ChunkReader):
    """Reads chunks. Tags and failures in the text are read only after a chunk had RAGFlow's shape.

    Attributes:
        judges_texts: whether a text may hold a tag or report a failure, so that `accepts_text` is asked.
    """

    known = ChunkReader.known | _ADDED

    def __init__(self) -> None:
        super().__init__()
        self.judges_texts = False
        self._meta: Meta | None = None
        """The ids of a text that may be held back; None before `judges_texts`."""

    @cached_property
    def _text(self) -> TaggedText:
        return TaggedText("think")

    @cached_property
    def _line(self) -> AnswerLine:
        return AnswerLine()

    @cached_property
    def _references(self) -> NewReferences:
        return NewReferences()

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of one chunk."""
        self.judges_texts = self.judges_texts or _is_ragflow(message)
        return super().read(message)

    def read_delta(
        self, delta: Mapping[str, Any], index: int, meta: Meta | None, whole: Whole | None
    ) -> Iterator[Event]:
        """Yield text and thinking, then references and the final text without repeated parts."""
        if self.judges_texts:
            self._meta = meta
        yield from super().read_delta(delta, index, meta, whole)
        if not _ADDED.isdisjoint(delta):
            yield from self._read_added(delta, meta)

    def _read_added(self, delta: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        rest = {name: value for name in _ADDED if (value := delta.get(name)) is not None}
        if self.judges_texts:
            rest.pop("error", None)  # the text or the finish reason reports it too
        if isinstance(rest.get("reference"), dict | list):
            yield from self._references.read(rest.pop("reference"), meta)
        if isinstance(rest.get("final_content"), str):
            yield from self._whole_text(rest.pop("final_content"), meta, "repeat")
        if isinstance(rest.get("waiting_for_user"), dict):
            yield interaction(rest.pop("waiting_for_user"), meta)
            yield SessionEnd("suspended", meta=meta)
        if rest:
            yield custom("delta", rest, meta)

    def read_text(self, text: str, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield a piece of the answer, or the failure that the text reports."""
        if index or not self.judges_texts:
            yield from super().read_text(text, index, meta, whole)
        elif running := _RUNNING.match(text):
            yield Status("node", "running", running[1] or None, text, meta=meta)
        elif whole:
            yield from self._whole_text(text, meta, whole)
        else:
            found = self._line.failure_in(text, meta)
            yield from _passages(self._text.feed(found.before if found else text), meta)
            if found:
                yield from self.flush()
                yield found.error

    def accepts_text(self, text: str) -> bool:
        """Note a further text that holds no tag and no failure; return False if it may hold one."""
        return not self.judges_texts or (self._text.accepts_text(text) and self._line.accepts_text(text))

    def read_plain(self, message: Mapping[str, Any]) -> tuple[Event, ...] | None:
        """Return the events that `read` would yield for a plain chunk; else None."""
        return None if self.judges_texts else super().read_plain(message)

    def take_plain(self, message: Mapping[str, Any], plain: PlainChunk) -> tuple[Event, ...] | None:
        """Return the events of a plain chunk; None if `read` has to read it."""
        return None if self.judges_texts else super().take_plain(message, plain)

    def flush(self) -> Iterator[Event]:
        """Yield the text that was held back because it may have been the beginning of a tag."""
        if self.judges_texts:
            yield from _passages(self._text.flush(), self._meta)

    def _whole_text(self, text: str, meta: Meta | None, whole: Whole) -> Iterator[Event]:
        """Yield the whole text, without the thinking in its tags, which becomes events of its own."""
        yield from self.flush()
        if not text:
            return
        tags, found = TaggedText("think"), error_in_text(text, meta)
        passages = [*tags.feed(found.before if found else text), *tags.flush()]
        thinking = "".join(passage.text for passage in passages if passage.tag)
        if thinking and whole == "snapshot":
            yield Thinking(thinking, "reasoning", whole, meta=meta)
        answer = "".join(passage.text for passage in passages if not passage.tag)
        if answer:
            yield Content(answer, is_complete=True if whole == "repeat" else None, whole=whole, meta=meta)
        if found:
            yield found.error


def _is_ragflow(message: Mapping[str, Any]) -> bool:
    choices = message.get("choices")
    choice = choices[0] if type(choices) is list and choices else None
    if type(choice) is not dict:
        return False
    delta = choice.get("delta")
    if type(delta) is dict:
        is_filled = message.get("system_fingerprint") == "" and delta.keys() >= _NULLED
        return is_filled or not _OWN.isdisjoint(delta)
    return type(choice.get("message")) is dict and "param" in message  # up to 0.19, streamed or not


def _passages(passages: list[Passage], meta: Meta | None) -> Iterator[Event]:
    for tag, text in passages:
        yield Thinking(text, "reasoning", meta=meta) if tag else Content(text, meta=meta)
