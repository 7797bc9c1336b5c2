"""Reads RAGFlow: finds the family of each frame, and the meaning of the end of the stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.codec.base import NO_OPTIONS, Decoder, Options
from streamweir.codec.coerce import custom, is_custom, leftover
from streamweir.codec.families.openai_chunks import is_chunk, is_completion
from streamweir.codec.families.ragflow_chunks import RagflowChunkReader
from streamweir.codec.families.ragflow_failures import error_in_text, failed, failure
from streamweir.codec.message_template import TextFields
from streamweir.codec.text_form import TextForm
from streamweir.dialects.ragflow.decode_agent import EVENTS, AgentReader
from streamweir.dialects.ragflow.decode_chat import EnvelopeReader
from streamweir.dialects.ragflow.decode_run import Run
from streamweir.dialects.ragflow.shared_vocabulary import ANSWERS, FORMS
from streamweir.events import Error, Event, SessionEnd, SessionStart
from streamweir.framing import Frame

__all__ = ["RagflowDecoder"]

_WITHOUT_DONE: Final = re.compile(r"/(?:agentbots/[^/]+/completions|canvas/completion)/?\Z")
"""The routes that never send `[DONE]`."""

_ENVELOPE: Final = frozenset(
    {"code", "message", "data", "session_id", "message_id", "task_id", "event", "id"}
)
"""The fields of an envelope; if `event` is among them, it is null."""

_ONLY_DATA: Final = frozenset({"code", "message", "data"})

_STEPS: Final = frozenset({"workflow_started", "node_started", "node_finished", "message"})
"""Events during a run; none of these events can be a whole answer."""


_IDS: Final = ("session_id", "message_id", "id", "chat_id")
"""The fields of `data` in a frame that only names the conversation and the message of an answer."""


class RagflowDecoder(Decoder):
    """Reads all families of RAGFlow; each frame shows its family.

    Options:
        form: the family that the encoder writes; the decoder finds out the family from each frame.
        answer: whether a chat frame holds a piece of the answer or all of it until then.
        end: `eof` if the route has no `[DONE]`, so that a body that ends after a message is complete.
    """

    option_values: ClassVar = {"form": FORMS, "answer": ANSWERS, "end": ("done", "eof")}
    text_fields: ClassVar = TextFields(
        texts=(("data", "content"), ("data", "answer"), ("choices", 0, "delta", "content")),
        ignored=(("created_at",), ("created",)),
        grows=True,
        form=TextForm(
            '{"event":"message","message_id":<string>,"created_at":<number>,"task_id":<string>',
            ',"data":{"content":<text>},"session_id":<string>}',
        ),
    )

    def __init__(self) -> None:
        self._run = Run()
        self._agent = AgentReader(self._run)
        self._openai = RagflowChunkReader()
        self._openai.judges_texts = True
        self._has_chunks = False
        self._chat: EnvelopeReader | None = None
        self._last: AgentReader | RagflowChunkReader | EnvelopeReader = self._agent
        self._frames = 0
        self._bare = False
        self._is_piece = False
        """Whether the last frame can only be a part of a stream."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an agent's events and for envelopes; chunks belong to `openai-chat`."""
        del event
        return _evidence(fields)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the options for the two routes that are known to end without `[DONE]`."""
        return {"end": "eof"} if _WITHOUT_DONE.search(path.partition("?")[0]) else NO_OPTIONS

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        text = frame.data.strip()
        if not text:
            return ()
        if text == b"[DONE]":
            return self._done()
        message = frame.json()
        if self._chat is not None and _is_plain_answer(message):
            longer = self._chat.read_longer(message["data"])
            if longer is not None:
                self._frames += 1
                self._bare, self._last = frame.bare, self._chat
                return longer
        return self._read(message, bare=frame.bare)

    def accepts_text(self, text: str) -> bool:
        """Ask the reader of the family that the last message belongs to."""
        return self._last.accepts_text(text)

    def accepts_texts(self, texts: Sequence[str]) -> int:
        """Ask that reader about all texts as one, which it accepts if it accepts each; else about each."""
        return len(texts) if self._last.accepts_text("".join(texts)) else super().accepts_texts(texts)

    @property
    def shown_form(self) -> Options:
        """The family of the frames in this stream, as options of the encoder."""
        if self._has_chunks:
            return {"form": "openai"}
        return {"form": "agent" if self._chat is None else "chat"}

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._openai.summary

    def close(self) -> Iterator[Event]:
        """Yield the end of the stream, if the body may end here."""
        yield from self._flush()
        if self._agent.failure and not self.complete:
            yield self._agent.failure
        elif self._has_chunks and (self.complete or self._openai.complete):
            yield from self._openai.close()
        elif self.complete or self._may_end_here():
            yield SessionEnd(meta=self._run.meta())

    @property
    def _envelope(self) -> EnvelopeReader:
        if self._chat is None:
            self._chat = EnvelopeReader(self._run, self.option("answer"))
        return self._chat

    def _read(self, message: Any, *, bare: bool) -> Iterator[Event]:
        self._frames += 1
        self._bare = bare
        self._openai.name_stream(self.request_id, self.room)
        if _is_plain_answer(message):
            events = self._answered(message["data"], None)
        elif isinstance(message, dict):
            events = self._message(message)
        else:
            events = iter((custom("message", message, self._run.meta()),))
        for event in events:
            if not is_custom(event):
                self._run.begun = True
            yield event

    def _message(self, message: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a message, by its family. A frame with the code of a failure is a failure."""
        match message:
            case {"event": "done"}:
                yield from self._done()
            case {"code": code} if failed(code):
                yield from self._failed(message)
            case {"event": str(event)} if event:
                self._last = self._agent
                self._is_piece = event in _STEPS
                yield from self._agent.read(message)
                self._run.begun = True  # an empty answer is one too
            case _ if is_completion(message):
                self._last = self._openai
                self._is_piece = is_chunk(message)
                self._has_chunks = True
                self._run.note_answer(message_id=message.get("id"))
                yield from self._openai.read(message)
                self.complete = self.complete or self._openai.complete
            case {"data": data}:
                yield from self._enveloped(data, message)
            case _:
                yield custom("message", message, self._run.meta())

    def _failed(self, message: Mapping[str, Any]) -> Iterator[Event]:
        self._run.note_ids(
            session_id=message.get("session_id"),
            message_id=message.get("message_id"),
            task_id=message.get("task_id"),
        )
        yield from self._flush()
        text = message.get("message")
        data = message.get("data")
        if not text and isinstance(data, dict):
            text = data.get("answer") or data.get("content")
        yield failure(text, message.get("code"), self._run.meta())

    def _enveloped(self, data: Any, message: Mapping[str, Any]) -> Iterator[Event]:
        beside = leftover(message, _ENVELOPE)
        match data:
            case True:
                yield from self._flush()
                if self._run.begun:
                    yield SessionEnd(meta=self._run.meta())
            case {"event": str(), "data": dict()}:
                self._run.note_ids(session_id=data.get("session_id"))
                yield from self._agent.read_whole({**(beside or {}), **data})
            case dict() if data.get("answer") is None and not leftover(data, _IDS):
                yield from self._session_only({**message, **data}, beside)
            case dict():
                yield from self._answered(data, beside)
            case str() if data:
                yield from self._text_only(data)
            case None | False | "":
                return
            case _:
                yield custom("data", data, self._run.meta(extra=beside))

    def _answered(self, data: Mapping[str, Any], beside: Mapping[str, Any] | None) -> Iterator[Event]:
        envelope = self._last = self._envelope
        yield from envelope.read(data, beside)
        self._run.begun = self._run.begun or "answer" in data
        self.complete = self.complete or envelope.complete

    def _session_only(self, fields: Mapping[str, Any], beside: Mapping[str, Any] | None) -> Iterator[Event]:
        """Yield the session of a run without output (after an empty question)."""
        self._run.note_ids(session_id=fields.get("session_id"), message_id=fields.get("message_id"))
        if self._run.session_id and not self._run.begun:
            yield SessionStart(self._run.session_id, meta=self._run.meta(extra=beside))

    def _text_only(self, text: str) -> Iterator[Event]:
        """Yield the failure for a whole answer that is a bare text."""
        if found := error_in_text(text, self._run.meta()):
            yield found.error
            return
        yield from self._envelope.read({"answer": text})

    def _done(self) -> Iterator[Event]:
        """Yield the remaining events at `[DONE]`. It follows failures, too, so it proves no good end."""
        yield from self._flush()
        if not self._run.begun:
            return
        if not self._agent.used:
            self.complete = True
        elif self._agent.failure:
            failure_of_node: Error = self._agent.failure
            yield failure_of_node
        elif self._agent.is_done():
            self.complete = True

    def _flush(self) -> Iterator[Event]:
        yield from self._agent.flush()
        yield from self._openai.flush()
        if self._chat is not None:
            yield from self._chat.flush()

    def _may_end_here(self) -> bool:
        """Return whether the body may end here: it was one whole answer, or its route has no end mark."""
        is_one_answer = self._bare and self._frames == 1 and self._run.begun and not self._is_piece
        return is_one_answer or (self._agent.has_answered and self.option("end") == "eof")


def _is_plain_answer(message: Any) -> bool:
    """Return whether a message is an envelope with only an answer. Most frames are such messages."""
    if type(message) is not dict or len(message) != len(_ONLY_DATA) or "message" not in message:
        return False
    code, data = message.get("code"), message.get("data")
    return (
        type(code) is int
        and not code
        and type(data) is dict
        and data.get("answer") is not None
        and "event" not in data
    )


def _evidence(message: Mapping[str, Any]) -> float:
    match message:
        case {"event": str(event), "data": dict(data), **ids} if event in EVENTS:
            return _agent_evidence(data, ids)
        case {"event": "waiting_for_user", "data": str()}:
            return 0.9
        case {"code": int(code)}:
            return _failure_evidence(message) if code else _envelope_evidence(message.get("data"))
        case {"session_id": str(), "data": dict(data)} if not data and len(message) == 2:
            return 0.7
    return 0.0


def _envelope_evidence(data: Any) -> float:
    match data:
        case True | {"answer": _} | {"event": str(), "data": dict()}:
            return 0.95
        case {"session_id": str()}:
            return 0.6
        case str() if error_in_text(data, None):
            return 0.9
    return 0.0


def _failure_evidence(message: Mapping[str, Any]) -> float:
    match message.get("data"):
        case {"answer": _}:
            return 0.9
        case False if isinstance(message.get("message"), str):
            return 0.6
        case None if isinstance(message.get("message"), str):
            return 0.5
    return 0.0


def _agent_evidence(data: Mapping[str, Any], ids: Mapping[str, Any]) -> float:
    if "conversation_id" in ids or "workflow_run_id" in ids:
        return 0.1  # Dify has events of the same names
    if "component_id" in data:
        return 1.0
    return 0.95 if {"message_id", "session_id", "task_id"} & ids.keys() else 0.6
