"""Writes RAGFlow, in the form that the client reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from streamweir.codec.base import Encoder
from streamweir.codec.frame_template import Number
from streamweir.dialects.ragflow.encode_agent import AgentWriter
from streamweir.dialects.ragflow.encode_chat import ChatWriter, CumulativeChatWriter
from streamweir.dialects.ragflow.encode_openai import OpenAIWriter
from streamweir.dialects.ragflow.encode_writer import Message, Writer
from streamweir.dialects.ragflow.shared_vocabulary import ANSWERS, FORMS
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["RagflowEncoder"]


class RagflowEncoder(Encoder):
    """Writes one of RAGFlow's families, as the Python server frames them.

    Options:
        form: `agent` (also `auto`), `chat` or `openai`.
        answer: whether chat frames hold pieces (`delta`, also `auto`) or the whole answer (`cumulative`).
        events: all agent events, or `filtered` to messages and the end, which the official SDK needs.
    """

    sse_prefix = b"data:"
    is_old: ClassVar[bool] = True
    option_values: ClassVar = {"form": FORMS, "answer": ANSWERS, "events": ("all", "filtered")}

    @property
    def can_replace(self) -> bool:
        """Whether text that was sent can be replaced, which only a cumulative answer can do."""
        return self._writer.can_replace

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`."""
        self._writer.writes_extra = self.writes_extra
        return [_frame(message) for message in self._writer.write(event, stamp)]

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the time of the read; None if every text has to be encoded."""
        del texts
        if self._writer.time_key is None or (isinstance(event, Content) and event.channel is not None):
            return None
        return {self._writer.time_key: (stamp.timestamp // 1000, 0)} if self._writer.time_key else {}

    def close(self) -> Iterable[Frame]:
        """Return the frame of the end mark."""
        return [_frame(message) for message in self._writer.close()]

    @cached_property
    def _writer(self) -> Writer:
        match self.option("form"):
            case "chat":
                cumulative = self.option("answer") == "cumulative"
                return (
                    CumulativeChatWriter(self.lost, self.room)
                    if cumulative
                    else ChatWriter(self.lost, self.room)
                )
            case "openai":
                return OpenAIWriter(self.lost, self.room)
            case _:
                return AgentWriter(self.lost, self.room, filtered=self.option("events") == "filtered")


def _frame(message: Message | None) -> Frame:
    return Frame(b"[DONE]" if message is None else write_json(message))
