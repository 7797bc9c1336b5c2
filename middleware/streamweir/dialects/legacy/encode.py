"""Writes the old vocabulary in the form of its first producer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.base import Encoder
from streamweir.codec.coerce import present
from streamweir.codec.frame_template import Number
from streamweir.codec.questions import asks_person, question_text
from streamweir.dialects.legacy.encode_answer import WholeAnswer
from streamweir.dialects.legacy.shared_fields import KNOWN
from streamweir.events import (
    META_IDS,
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Warning,
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json, write_json_text

__all__ = ["LegacyEncoder"]

_USAGE: Final = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")
_WITHOUT_STATE: Final = frozenset({SessionStart, SessionEnd, Data, Status})
"""The events of which nothing is noted if their frames are copied."""


class LegacyEncoder(Encoder):
    """Writes tables by their old keys, and calls and results by the names of their tools.

    Clients read the fields that they know by name, so ids and the upstream's own fields are added next to
    these fields.

    Options:
        tool_args: a call's arguments as an `object`, or as JSON `text`.
        final_answer: `on` repeats the whole answer in one `final_answer` before the end.
    """

    framings = ("sse", "ndjson")
    is_old: ClassVar[bool] = True
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "tool_args": ("object", "text"),
        "final_answer": ("off", "on"),
    }

    _has_text = False

    @cached_property
    def _answer(self) -> WholeAnswer:
        return WholeAnswer(self.room // 2)

    @cached_property
    def _tool_names(self) -> RecentIds[str]:
        """The names of tools, by the ids of open calls."""
        return RecentIds(self.room // 4)

    @cached_property
    def _repeats_answer(self) -> bool:
        """Whether the whole answer is written once more at the end."""
        return bool(self.options) and self.option("final_answer") == "on"

    @property
    def can_replace(self) -> bool:
        """Whether text can be replaced, which only a `final_answer` can do."""
        return bool(self.options) and self._repeats_answer

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`; an empty list if the old vocabulary has no form for it."""
        del stamp
        message = self._token(event) if type(event) is Content else self._message(event)
        if message is None:
            return ()
        if event.meta:
            message |= _beside(event.meta, self.extra_of(event))
        frame = self._frame(message) if self.options else Frame(write_json(message))
        if type(event) is SessionEnd and event.status == "completed":
            return *self._whole_answer(), frame
        return (frame,)

    def note_event(self, event: Event, stamp: Stamp) -> None:
        """Note an event whose frame is copied."""
        del stamp
        if type(event) is Content:
            self._note_text(event)
        elif type(event) not in _WITHOUT_STATE:
            self._message(event)

    def _token(self, event: Content) -> dict[str, Any] | None:
        """Return the message of a piece of text; None if the piece has no place."""
        return {"type": "token", "content": event.content} if self._note_text(event) else None

    def _note_text(self, event: Content) -> bool:
        """Note a piece of text; return whether it has a place."""
        if event.channel is not None:
            self.lost["channel of text"] += 1
        if self.options:
            self._keep(event)
        if not event.content or event.op == "replace":
            return False
        self._has_text = True
        return True

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return an empty mapping; None for text of another channel, which is lost."""
        del texts, stamp
        return None if isinstance(event, Content) and event.channel is not None else {}

    @property
    def notes_texts(self) -> bool:
        """Whether the whole answer is written once more at the end."""
        return bool(self.options) and self._repeats_answer

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Keep the texts that belong to the answer."""
        if self.notes_texts and isinstance(event, Content):
            self._keep(event.with_text("".join(texts)))

    def _keep(self, event: Content) -> None:
        """Keep text for `final_answer`."""
        if self._repeats_answer and not self._answer.add(event):
            self.lost["replaced text"] += 1

    def _whole_answer(self) -> Iterable[Frame]:
        """Return the frames that repeat the answer; no frames if there is no answer, or if it is too long."""
        text = self._answer.text if self._repeats_answer else ""
        return (self._frame({"type": "final_answer", "content": text}),) if text else ()

    def _frame(self, message: Mapping[str, Any]) -> Frame:
        """Return the frame of a message, in the form that the stream of the upstream has shown."""
        kind = message["type"]
        if self.options.get("nested") and kind != "dataframe_data":
            message = {"type": kind, "data": {name: message[name] for name in message if name != "type"}}
        return Frame(write_json(message), kind if self.options.get("named") else None)

    def _message(self, event: Event) -> dict[str, Any] | None:
        match event:
            case Interaction() if asks_person(event):
                return self._question(event)
            case Thinking(content=text):
                return {"type": "thinking", "content": text} if text else None
            case ToolCallStart():
                self._tool_names.add(event.tool_id, event.tool_name)
                as_text = self.option("tool_args") == "text"
                return _tool_call(event, write_json_text(event.arguments) if as_text else event.arguments)
            case ToolCallEnd():
                name = self._tool_names.get(event.tool_id)
                self._tool_names.discard(event.tool_id)
                return _tool_result(event, name)
            case Warning() | Error():
                return _problem(event)
            case Data(data_type="dataframe", data={"name": name, "columns": columns, "rows": rows}):
                table = {
                    "type": "dataframe_display",
                    "dataframe_name": name,
                    "columns": columns,
                    "data": rows,
                }
                return {"type": "dataframe_data", "data": {**table, **_described(event)}}
            case SessionEnd(status="completed" | "cancelled" | "suspended"):
                return _done(event)
            case SessionStart() | SessionEnd() | ToolCallDelta():
                return None
        self.lost[event.type.replace("_", " ")] += 1
        return None

    def _question(self, event: Interaction) -> dict[str, Any]:
        """Return the message of a question as a part of the answer: the old vocabulary has no questions."""
        text = question_text(event)
        gap = "\n\n" if self._has_text else ""
        self._has_text = True
        self._keep(Content(gap + text, is_complete=True))
        return {"type": "token", "content": gap + text}


def _tool_call(event: ToolCallStart, arguments: Any) -> dict[str, Any]:
    return present(
        type="tool_call",
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        description=event.description or None,
        tool_args=arguments,
        status="calling",
    )


def _tool_result(event: ToolCallEnd, name: str | None) -> dict[str, Any]:
    return present(
        type="tool_result",
        tool_id=event.tool_id,
        tool_name=name,
        status="completed" if event.status == "success" else "failed",
        result=event.result,
        error=event.error["message"] if event.error else None,
        code=event.error["code"] if event.error else None,
        duration_ms=(event.meta or {}).get("duration_ms"),
    )


def _problem(event: Warning | Error) -> dict[str, Any]:
    """Return the message of a failure. If the run goes on, it is a warning: clients stop at an `error`."""
    if isinstance(event, Warning):
        return present(type="warning", message=event.message, message_code=event.message_code)
    if not event.terminal:
        return {"type": "warning", "message": event.message, "message_code": event.code}
    return {"type": "error", "message": event.message, "code": event.code}


def _done(event: SessionEnd) -> dict[str, Any]:
    summary = event.summary or {}
    return present(
        type="done",
        status=None if event.status == "completed" else event.status,
        **{name: summary.get(name) for name in _USAGE},
    )


def _described(event: Data) -> dict[str, Any]:
    description = (event.metadata or {}).get("description")
    return {"description": description} if isinstance(description, str) else {}


def _beside(meta: Meta, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids of an event, and the upstream's fields that have no standard name."""
    ids = {name: value for name in META_IDS if (value := meta.get(name)) is not None}
    return {**{name: value for name, value in extra.items() if name not in KNOWN}, **ids}
