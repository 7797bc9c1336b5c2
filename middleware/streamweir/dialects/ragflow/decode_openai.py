"""RAGFlow's OpenAI-shaped answers, of chats and of agents.

Source: infiniflow/ragflow `api/apps/restful_apis/openai_api.py`, `api/db/services/canvas_service.py` at
b1b8cd6 of 2026-08-22 (v0.19.1 for the chunks with a `message`),
`internal/handler/agent_openai.go` for the Go server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.openai_chunks import ChunkReader
from streamweir.codec.think_tags import Passage, TaggedText
from streamweir.dialects.ragflow.decode_failures import AnswerLine, error_in_text
from streamweir.dialects.ragflow.decode_run import Run
from streamweir.dialects.ragflow.shared_forms import interaction
from streamweir.events import Content, Event, Meta, SessionEnd, Status, Thinking, Whole

__all__ = ["OpenAIReader"]

_RUNNING: Final = re.compile(r"\s{0,8}\*'(.{0,256}?)'\* is running\W{0,64}\Z")


class OpenAIReader(ChunkReader):
    """Reads OpenAI-shaped chunks with RAGFlow's additions to the delta.

    Attributes:
        used: a chunk has been read.
    """

    known = ChunkReader.known | {"reference", "final_content", "waiting_for_user", "error"}

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.used = False
        self._run = run
        self._text = TaggedText("think")
        self._line = AnswerLine()

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield what one chunk says."""
        self.used = True
        self._run.note_answer(message_id=message.get("id"))
        yield from super().read(message)

    def read_delta(
        self, delta: Mapping[str, Any], index: int, meta: Meta | None, whole: Whole | None
    ) -> Iterator[Event]:
        """Yield text and thinking, then the references and the final text, which repeats."""
        yield from super().read_delta(delta, index, meta, whole)
        yield from self._run.reference(delta.get("reference"))
        if isinstance(text := delta.get("final_content"), str) and text:
            yield from self._whole_text(text, meta, "repeat")
        if isinstance(asked := delta.get("waiting_for_user"), dict):
            yield interaction(asked, meta)
            yield SessionEnd("suspended", meta=meta)

    def read_text(self, text: str, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield a piece of the answer, or the failure that it reports."""
        if running := _RUNNING.match(text):
            yield Status("node", "running", running[1] or None, text, meta=meta)
        elif index:
            yield from super().read_text(text, index, meta, whole)
        elif whole:
            yield from self._whole_text(text, meta, whole)
        else:
            found = self._line.failure_in(text, meta)
            yield from _passages(self._text.feed(found.before if found else text), meta)
            if found:
                yield from self.flush()
                yield found.error

    def accepts_text(self, text: str) -> bool:
        """Take note of one more text that says nothing but its words; False if it may say more."""
        return self._text.accepts_text(text) and self._line.accepts_text(text)

    def flush(self) -> Iterator[Event]:
        """Yield the text that was held back for half a tag."""
        yield from _passages(self._text.flush(), self._run.meta())

    def _whole_text(self, text: str, meta: Meta | None, whole: Whole) -> Iterator[Event]:
        """All of the text; the thinking in its tags has come, or comes, as such."""
        yield from self.flush()
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


def _passages(passages: list[Passage], meta: Meta | None) -> Iterator[Event]:
    for tag, text in passages:
        yield Thinking(text, "reasoning", meta=meta) if tag else Content(text, meta=meta)
