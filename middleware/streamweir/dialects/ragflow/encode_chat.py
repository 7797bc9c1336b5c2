"""Writes chat answers in an envelope: pieces (from 0.24 on), or each time the whole answer (up to 0.23.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.questions import asks_person, question_text
from streamweir.codec.text_pieces import TextPieces
from streamweir.dialects.ragflow.encode_media import hexadecimal_audio
from streamweir.dialects.ragflow.encode_writer import Message, Writer
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    ToolCallDelta,
)

__all__ = ["ChatWriter", "CumulativeChatWriter"]

_PART: Final = 256
"""The bytes that a text or a thought counts in addition to its characters."""


class ChatWriter(Writer):
    """Writes pieces, think flags and a last frame with `final` and the reference."""

    time_key: str | None = ""

    def __init__(self, lost: Counter[str], room: int) -> None:
        super().__init__(lost, room)
        self._thinking = False
        self._has_text = False
        self._stamp = Stamp("", 0, 0)

    def write(self, event: Event, stamp: Stamp) -> Iterator[Message]:
        """Yield the envelopes of `event`."""
        self.note(event)
        self._stamp = stamp
        match event:
            case Content():
                if event.channel is not None:
                    self.lost["channel of text"] += 1
                yield from self._text(event)
            case Thinking():
                yield from self._think(event.content)
            case Interaction() if asks_person(event):
                yield from self._text(Content(self._gap + question_text(event)))
            case Reference():
                self._cite(event)
            case Data(data_type="audio", data=dict() as data) if speech := hexadecimal_audio(data):
                yield self._envelope(self._nothing, audio_binary=speech)
            case Error(terminal=True, message=text):
                data = {"answer": f"**ERROR**: {text}", "reference": []}
                yield {"code": 500, "message": text, "data": data}
            case SessionEnd():
                if event.status in ("cancelled", "suspended"):
                    self.lost[f"end as {event.status}"] += 1
                if event.status != "error":
                    yield from self._last()
            case SessionStart() | ToolCallDelta():
                return
            case _:
                self.lose(event)

    def close(self) -> Iterator[Message | None]:
        """Yield the end mark, which also follows a failure."""
        yield {"code": 0, "message": "", "data": True}

    _nothing = ""
    """The answer of a frame that adds no text."""

    @property
    def _gap(self) -> str:
        """Return the text that separates the answer from a question."""
        return "\n\n" if self._has_text else ""

    def _text(self, event: Content) -> Iterator[Message]:
        if event.content:
            self._has_text = True
            yield from self._turn(thinking=False)
            yield self._envelope(event.content)

    def _think(self, text: str) -> Iterator[Message]:
        yield from self._turn(thinking=True)
        yield self._envelope(text)

    def _turn(self, *, thinking: bool) -> Iterator[Message]:
        if self._thinking != thinking:
            self._thinking = thinking
            yield self._envelope("", **{"start_to_think" if thinking else "end_to_think": True})

    def _last(self) -> Iterator[Message]:
        yield from self._turn(thinking=False)
        reference = self._take_reference(keyed=False) or {}
        yield self._envelope("", reference=reference, created_at=self._stamp.timestamp / 1000, final=True)

    def _envelope(self, answer: str, **fields: Any) -> Message:
        data = {"answer": answer, "reference": {}, "audio_binary": None, "final": False, **fields}
        return {
            "code": 0,
            "message": "",
            "data": {**data, "id": self.one_message_id(self._stamp), "session_id": self._session_id},
        }


class CumulativeChatWriter(ChatWriter):
    """Writes the whole answer until then in every frame, with thinking in tags, so it keeps the answer."""

    can_replace = True
    time_key = None

    def __init__(self, lost: Counter[str], room: int) -> None:
        super().__init__(lost, room)
        self._before = ""
        self._parts: list[tuple[bool, TextPieces]] = []
        self._left = room // 2

    def _text(self, event: Content) -> Iterator[Message]:
        if event.op == "replace":
            self._left += sum(pieces.size for thinking, pieces in self._parts if not thinking)
            self._parts = [part for part in self._parts if part[0]]
        if event.content:
            self._has_text = True
            self._add(event.content, thinking=False)
            yield self._envelope(self._whole)
        if event.is_complete:
            self._before, self._parts = self._whole, []

    def _think(self, text: str) -> Iterator[Message]:
        self._add(text, thinking=True)
        yield self._envelope(self._whole)

    def _add(self, text: str, *, thinking: bool) -> None:
        if not self._parts or self._parts[-1][0] != thinking:
            self._parts.append((thinking, TextPieces()))
            self._left -= _PART
        self._left -= self._parts[-1][1].append(text)
        if self._left < 0:
            raise LimitExceeded("an answer is larger than can be repeated in every frame")

    def _last(self) -> Iterator[Message]:
        reference = self._take_reference(keyed=False) or {}
        yield self._envelope(
            self._whole, reference=reference, prompt="", created_at=self._stamp.timestamp / 1000
        )

    @property
    def _whole(self) -> str:
        text, inside = self._before, False
        for thinking, pieces in self._parts:
            if thinking != inside:
                text += "<think>" if thinking else "</think>"
                inside = thinking
            text += pieces.text
        return text

    @property
    def _nothing(self) -> str:  # type: ignore[override]
        return self._whole

    def _envelope(self, answer: str, **fields: Any) -> Message:
        message = super()._envelope(answer, **fields)
        message["data"].pop("final")
        return message
