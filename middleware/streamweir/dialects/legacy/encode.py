"""Writes the old vocabulary as its first producer did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from streamweir.codec.base import Encoder
from streamweir.codec.frame_template import Number
from streamweir.codec.questions import asks_person, question_text
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
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.jsontext import write_json, write_json_text

__all__ = ["LegacyEncoder"]

_USAGE: Final = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")


class LegacyEncoder(Encoder):
    """Writes `tool_args` as JSON text and tables by their old keys.

    Its clients take the fields that they know by name: ids and the upstream's own fields stand beside those.
    """

    framings = ("sse", "ndjson")

    def __init__(self) -> None:
        super().__init__()
        self._has_text = False

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frame that says `event`, none where the old vocabulary has no word."""
        del stamp
        message = self._message(event)
        if message is None:
            return ()
        if event.meta:
            message |= _beside(event.meta, self.extra_of(event))
        return (Frame(write_json(message)),)

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Nothing counts; text of another channel is lost."""
        del texts, stamp
        return None if isinstance(event, Content) and event.channel is not None else {}

    def _message(self, event: Event) -> dict[str, Any] | None:
        match event:
            case Content(content=text):
                if event.channel is not None:
                    self.lost["channel of text"] += 1
                self._has_text = self._has_text or bool(text)
                return {"type": "token", "content": text} if text else None
            case Interaction() if asks_person(event):
                return self._question(event)
            case Thinking(content=text):
                return {"type": "thinking", "content": text} if text else None
            case ToolCallStart():
                return _tool_call(event)
            case ToolCallEnd():
                return _tool_result(event)
            case Data(data_type="dataframe", data={"name": name, "columns": columns, "rows": rows}):
                table = {
                    "type": "dataframe_display",
                    "dataframe_name": name,
                    "columns": columns,
                    "data": rows,
                }
                return {"type": "dataframe_data", "data": {**table, **_described(event)}}
            case Error(terminal=True):
                return {"type": "error", "message": event.message, "code": event.code}
            case SessionEnd(status="completed" | "cancelled" | "suspended"):
                return _done(event)
            case SessionStart() | SessionEnd() | ToolCallDelta():
                return None
        self.lost[event.type.replace("_", " ")] += 1
        return None

    def _question(self, event: Interaction) -> dict[str, Any]:
        """The old vocabulary cannot ask: a person reads the question as a part of the answer."""
        text = question_text(event)
        gap = "\n\n" if self._has_text else ""
        self._has_text = True
        return {"type": "token", "content": gap + text}


def _tool_call(event: ToolCallStart) -> dict[str, Any]:
    return _present(
        type="tool_call",
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        description=event.description or None,
        tool_args=write_json_text(event.arguments),
        status="calling",
    )


def _tool_result(event: ToolCallEnd) -> dict[str, Any]:
    return _present(
        type="tool_result",
        tool_id=event.tool_id,
        status="completed" if event.status == "success" else "failed",
        result=event.result,
        error=event.error["message"] if event.error else None,
        code=event.error["code"] if event.error else None,
        duration_ms=(event.meta or {}).get("duration_ms"),
    )


def _done(event: SessionEnd) -> dict[str, Any]:
    summary = event.summary or {}
    return _present(
        type="done",
        status=None if event.status == "completed" else event.status,
        **{name: summary.get(name) for name in _USAGE},
    )


def _described(event: Data) -> dict[str, Any]:
    description = (event.metadata or {}).get("description")
    return {"description": description} if isinstance(description, str) else {}


def _beside(meta: Meta, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The ids of an event, and those fields of the upstream's own that no name of ours would take over."""
    ids = {name: value for name in META_IDS if (value := meta.get(name)) is not None}
    return {**{name: value for name, value in extra.items() if name not in KNOWN}, **ids}


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
