"""Reads chat answers in an envelope: `{"code", "message", "data": {"answer", "reference", ...}}`.

Source: infiniflow/ragflow `api/apps/restful_apis/{chat,bot}_api.py`, `api/db/services/dialog_service.py`, at
b1b8cd6 (2026-08-22) and the tags from v0.17.2 on; `internal/service/bot_completion.go` for the Go server.
Intended differences: `prompt`, an echo, and `created_at`, a time of the server, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, text_of
from streamweir.codec.families.ragflow_failures import AnswerLine
from streamweir.codec.families.think_tags import Passage, TaggedText
from streamweir.dialects.ragflow.decode_answer_form import AnswerForm, Part
from streamweir.dialects.ragflow.decode_media import audio
from streamweir.dialects.ragflow.decode_run import Run
from streamweir.events import Content, Event, Meta, SessionStart, Status, Thinking

__all__ = ["EnvelopeReader"]

_TAGS: Final = ("think", "retrieving")
_KNOWN: Final = frozenset(
    {
        *("answer", "reference", "audio_binary", "prompt", "created_at", "id", "session_id"),
        *("chat_id", "final", "start_to_think", "end_to_think", "running_status"),
    }
)
_PLAIN: Final = frozenset({"answer", "reference", "audio_binary", "id", "session_id"})
"""The fields of most frames."""
_RUNNING: Final = re.compile(r"\*'(.{0,256}?)'\* is running")
_MARKS: Final = frozenset({"final", "start_to_think", "end_to_think"})


class EnvelopeReader:
    """Reads the `data` of envelopes.

    Args:
        option: how frames hold the answer: `auto`, `delta` or `cumulative`.

    Attributes:
        complete: whether the server has marked the last frame.
    """

    def __init__(self, run: Run, option: str) -> None:
        self.complete = False
        self._run = run
        self._form = AnswerForm(option)
        self._text = TaggedText(*_TAGS)
        self._line = AnswerLine()

    def read_longer(self, data: Mapping[str, Any]) -> tuple[Event, ...] | None:
        """Return the event that `read` would yield for a frame with only the whole answer until then.

        None, without a change of state, if the frame has anything else, or if the text may hold a tag or a
        failure.
        """
        text, form, run = data["answer"], self._form, self._run
        if not (form.is_cumulative and run.begun and data.keys() <= _PLAIN and type(text) is str and text):
            return None
        if data.get("reference") or data.get("audio_binary") or "<" in text:
            return None
        if not run.has_ids(data.get("session_id"), data.get("id")):
            return None
        if not self._line.accepts_text(form.new_in(text)):
            return None
        form.extend(text)
        self._text.forget()
        run.has_text = run.text_open = True
        return (Content(text, whole="snapshot", meta=run.meta()),)

    def read(self, data: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> Iterator[Event]:
        """Yield the events of one frame; `beside` holds the fields of its envelope other than the data."""
        self._run.note_answer(session_id=data.get("session_id"), message_id=data.get("id"))
        if not self._run.begun and (self._run.session_id or data.get("chat_id")):
            extra = leftover({"chat_id": data.get("chat_id")}, ())
            yield SessionStart(self._run.session_id, meta=self._run.meta(extra=extra))
        rest = {} if data.keys() <= _KNOWN else leftover(data, _KNOWN) or {}
        if beside:
            rest = {**rest, **beside}
        if rest and not data.get("answer"):
            yield custom("data", rest, self._run.meta())
        if "answer" not in data:
            return
        meta = self._run.meta(extra=rest)
        if data.get("running_status") is True:
            yield _running(text_of(data["answer"]), meta)
            yield from self._run.reference(data.get("reference"))
            return
        yield from self._answer(data, meta)
        if data.get("audio_binary"):
            yield from audio(data["audio_binary"], self._run.meta())

    def accepts_text(self, text: str) -> bool:
        """Note the next text, or the new part of a whole text. Return False if the decoder has to look for a
        tag or a failure in it.
        """
        form = self._form
        if not form.is_settled or not (self._text.accepts_text(text) and self._line.accepts_text(text)):
            return False
        if form.is_cumulative:
            form.grow(text)
        return True

    def flush(self) -> Iterator[Event]:
        """Yield the text that was held back because it may have been the beginning of a tag."""
        yield from self._passages(self._text.flush(), self._run.meta())

    def _answer(self, data: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        text, last = text_of(data["answer"]), data.get("final") is True
        if data.get("start_to_think"):
            yield from self.flush()
            self._text.inside = "think"
        new = self._form.new_in(text)
        found = self._line.failure_in(new, self._run.meta())
        if found:
            text = text[: len(text) - len(new)] + found.before if found.before.strip() else ""
        if last and not found:
            yield from self._last(text, data, meta)
        else:
            yield from self._part(text, data, meta)
            if data.get("reference"):
                yield from self._run.reference(data["reference"])
        if data.get("end_to_think"):
            yield from self.flush()
            self._text.inside = None
        if found:
            yield from self.flush()
            yield found.error

    def _part(self, text: str, data: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        if not text:
            return
        part = self._form.take(
            text,
            marked=not _MARKS.isdisjoint(data) and any(data.get(mark) is not None for mark in _MARKS),
            decorated=bool(data.get("prompt") or data.get("reference")),
        )
        if part.whole is None:
            yield from self._passages(self._text.feed(part.text), meta)
        else:
            yield from self._whole(part, meta)

    def _last(self, text: str, data: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the sources and the end of the text for the last frame, which the server has marked."""
        self.complete = True
        yield from self.flush()
        yield from self._run.reference(data.get("reference"))
        if text:
            yield from self._whole(Part(text, "repeat"), meta)
        elif self._run.text_open:
            yield Content("", is_complete=True, meta=meta)
        self._run.text_open = False

    def _whole(self, part: Part, meta: Meta | None) -> Iterator[Event]:
        """Yield the whole answer until now, including the thinking in its tags."""
        if "<" not in part.text and part.whole != "repeat":  # no tag, and no half of one
            self._text.forget()
            self._run.has_text = self._run.text_open = True
            yield Content(part.text, whole=part.whole, meta=meta)
            return
        self._text = TaggedText(*_TAGS)
        passages = self._text.feed(part.text)
        if len(passages) == 1 and not passages[0].tag and part.whole != "repeat":
            self._run.has_text = self._run.text_open = True
            yield Content(passages[0].text, whole=part.whole, meta=meta)
            return
        if part.whole == "repeat":
            passages += self._text.flush()
        thinking = "".join(_readable(passage) for passage in passages if passage.tag)
        answer = "".join(passage.text for passage in passages if not passage.tag)
        if thinking:
            yield Thinking(thinking, "reasoning", "snapshot", meta=meta)
        if answer:
            self._run.has_text = self._run.text_open = True
            yield Content(
                answer, is_complete=True if part.whole == "repeat" else None, whole=part.whole, meta=meta
            )

    def _passages(self, passages: list[Passage], meta: Meta | None) -> Iterator[Event]:
        for passage in passages:
            if passage.tag:
                stage: Any = "analyzing" if passage.tag == "retrieving" else "reasoning"
                yield Thinking(_readable(passage), stage, meta=meta)
            else:
                self._run.has_text = self._run.text_open = True
                yield Content(passage.text, meta=meta)


def _readable(passage: Passage) -> str:
    """Return the text of a passage; in the steps of a retrieval, line ends of HTML are replaced."""
    return passage.text.replace("<br/>", "\n") if passage.tag == "retrieving" else passage.text


def _running(text: str, meta: Meta | None) -> Status:
    """Return the progress of agents up to 0.19, which is a text such as `*'node'* is running...`."""
    found = _RUNNING.search(text)
    return Status("node", "running", found[1] if found else None, text, meta=meta)
