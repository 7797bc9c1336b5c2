"""Reads chat completions: chunks, a whole answer, an error body; RAGFlow's variants, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.classification import FailureInBody, failure_in_body
from streamweir.codec.base import Decoder
from streamweir.codec.block_forms import BlockForms, text_in
from streamweir.codec.coerce import custom
from streamweir.codec.error_only_body import error_event_of
from streamweir.codec.families.openai_chunks import is_completion
from streamweir.codec.families.plain_chunks import PlainChunk
from streamweir.codec.families.ragflow_chunks import RagflowChunkReader
from streamweir.codec.message_template import Piece, TextFields
from streamweir.codec.suspension import SUSPENSION, asked_in, is_suspended
from streamweir.codec.text_form import TextForm
from streamweir.events import Error, Event, SessionEnd
from streamweir.framing import Frame

__all__ = ["OpenAIChatDecoder"]

_AFTER_DELTA: Final = (
    ',"logprobs":null?',
    ',"finish_reason":null?',
    ',"logprobs":null?',
    "}]",
    ',"usage":null?',
    ',"obfuscation":<string>?',
    "}",
)
"""The parts of a usual chunk after its delta."""

_CANCELLED: Final = "cancelled"
"""The code of an error that means that the run was stopped on request."""


class OpenAIChatDecoder(Decoder):
    """Reads the chunks of one stream. A `finish_reason` or `[DONE]` completes it; usage may still follow.

    `[DONE]` alone does not complete an answer behind a failure that is no chunk: servers write it there, too.
    """

    text_fields: ClassVar = TextFields(
        texts=(
            ("choices", 0, "delta", "content"),
            ("choices", 0, "delta", "reasoning_content"),
            ("choices", 0, "delta", "reasoning"),
        ),
        ignored=(("created",), ("obfuscation",), ("p",)),
        form=TextForm(
            '{"id":<string>,"object":"chat.completion.chunk","created":<number>,"model":<string>',
            ',"service_tier":<string_or_null>?',
            ',"system_fingerprint":<string_or_null>?',
            ',"choices":[{"index":0,"delta":{',
            '"role":"assistant",?',
            '"content":<text>}',
            ',"logprobs":null?',
            ',"finish_reason":null',
            ',"logprobs":null?',
            "}]",
            ',"usage":null?',
            ',"obfuscation":<ignored>?',
            "}",
        ),
    )

    block_forms: ClassVar = BlockForms(
        begin=(
            '{"id":<id=word>,"object":"chat.completion.chunk","created":<number>,"model":<model=word>',
            ',"service_tier":<string_or_null>?',
            ',"system_fingerprint":<fingerprint=word_or_null>?',
            ',"choices":[{"index":0,"delta":{',
            '"role":"assistant",?',
            '"content":<text=text>',
            ',"refusal":null?',
            "}",
            *_AFTER_DELTA,
        ),
        finish=(
            '{"id":<string>,"object":"chat.completion.chunk","created":<number>,"model":<string>',
            ',"service_tier":<string_or_null>?',
            ',"system_fingerprint":<string_or_null>?',
            ',"choices":[{"index":0,"delta":{',
            '"content":""?',
            "}",
            ',"logprobs":null?',
            ',"finish_reason":<reason=word>',
            *_AFTER_DELTA[2:],
            "<next>[DONE]?",
        ),
        done=("[DONE]",),
    )

    judges_texts = False  # until a chunk is RAGFlow's
    _failure: FailureInBody | None = None
    """The first failure that was reported in a message of another shape than this API's."""

    def __init__(self) -> None:
        self._chunks = _Chunks()
        self._begun = False

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for chunks, unless another dialect reads more of their fields."""
        if event is not None:
            return 0.0
        match fields:
            case {"object": "chat.completion.chunk" | "chat.completion", "choices": list()}:
                return 0.8
            case {"choices": [{"delta": dict()} | {"message": dict()}, *_]}:
                return 0.6
            case {"error": {"message": str(), "type": _}} if "type" not in fields:
                return 0.5
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        text = frame.data.strip()
        if text == b"[DONE]":
            self.complete = self.complete or (self._begun and self._failure is None)
            return self._chunks.flush()
        if not text:
            return ()
        if frame.event == "error":
            self._failure = self._failure or failure_in_body(frame.json_or(None)) or FailureInBody()
        message = frame.json()
        plain = self._chunks.read_plain(message) if type(message) is dict else None
        if plain is None:
            return self._read(message)
        self._begun = True
        self.complete = self.complete or self._chunks.complete
        return plain

    def read_block(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Return the events of a usual chunk; None if it belongs to more than a plain answer."""
        kind, chunks = found.lastgroup, self._chunks
        if kind == "begin":
            message_id, model, fingerprint, written = found.group("id", "model", "fingerprint", "text")
            text = text_in(written) if written else ""
            if text is None or (text and self._begun):
                return None  # later texts are read by their surroundings
            message = {"id": message_id.decode(), "model": model.decode()}
            if fingerprint:
                message["system_fingerprint"] = fingerprint.decode()
            events = chunks.take_plain(message, PlainChunk(text, None))
        elif chunks.plain_piece is None and not chunks.complete:
            return None
        elif kind == "finish":
            events = chunks.take_plain({}, PlainChunk("", found["reason"].decode()))
        elif self._failure is not None:
            return None
        else:
            self.complete = True
            return ()
        if events is not None:
            self._begun = True
            self.complete = self.complete or chunks.complete
        return events

    @property
    def plain_piece(self) -> Piece | None:
        """A text of the answer that has begun, unless it has calls, reasoning or an end."""
        return self._chunks.plain_piece

    def accepts_text(self, text: str) -> bool:
        """Return False for RAGFlow's texts that may report a failure or hold thinking."""
        return self._chunks.accepts_text(text)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._chunks.summary

    def close(self) -> Iterator[Event]:
        """Yield the end: suspended if there is an open question."""
        yield from self._chunks.flush()
        if self.complete:
            yield from self._chunks.close()
        elif self._failure is not None:
            yield error_event_of(self._failure)

    def _read(self, message: Any) -> Iterator[Event]:
        if not isinstance(message, dict) or not (is_completion(message) or message.get("object") == "error"):
            failure = failure_in_body(message)
            self._failure = self._failure or failure
            yield custom("error" if failure else "message", message)
            return
        self._begun = True
        self._chunks.name_stream(self.request_id, self.room)
        for event in self._chunks.read(message):
            is_end = isinstance(event, Error) and event.terminal and _is_cancelled(message)
            yield SessionEnd("cancelled") if is_end else event
        self.judges_texts = self._chunks.judges_texts
        self.complete = self.complete or self._chunks.complete


class _Chunks(RagflowChunkReader):
    """Reads chunks, the last of which may report that the run waits for a person."""

    opaque_name = "openai-chat"
    _waits = False

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        if SUSPENSION in message:
            self._waits = self._waits or is_suspended(message)
            yield from super().read({name: value for name, value in message.items() if name != SUSPENSION})
            yield from asked_in(message)
        else:
            yield from super().read(message)

    def close(self) -> Iterator[Event]:
        for event in super().close():
            waits = self._waits and isinstance(event, SessionEnd)
            yield SessionEnd("suspended", summary=self.summary or None) if waits else event


def _is_cancelled(message: Mapping[str, Any]) -> bool:
    error = message.get("error")
    return isinstance(error, dict) and error.get("code") == _CANCELLED
