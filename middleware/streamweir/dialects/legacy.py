"""The old vocabulary: `token`, `tool_call`, `tool_result`, `final_answer`, `dataframe_data`, `done`, `error`.

Source: the standard protocol 1.1, section 7; field names and their aliases as found in three producers.
Shape, not name, tells old from new: an event with `data` and `metadata` objects is a standard one, also in the
middle of an old stream. Intended leniency: the type may stand in the SSE event name, fields may be nested under
`data`, and a text event may be bare text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamweir.dialects.base import Decoder, Encoder
from streamweir.dialects.evidence import best_score
from streamweir.dialects.reading import (
    arguments,
    custom,
    dataframe,
    leftover,
    meta_of,
    milliseconds,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.dialects.standard import is_standard, read_standard
from streamweir.errors import MalformedEvent
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Warning,
)
from streamweir.framing import Frame
from streamweir.jsontext import write_json, write_json_text

__all__ = ["DECODER", "ENCODER", "LegacyDecoder", "LegacyEncoder"]

_ALIASES: Final = {
    "token": "content",
    "content": "content",
    "tool_call": "tool_call",
    "tool_call_start": "tool_call",
    "tool_result": "tool_result",
    "tool_call_end": "tool_result",
    "thinking": "thinking",
    "final_answer": "final_answer",
    "dataframe_data": "dataframe_data",
    "session_start": "session_start",
    "done": "done",
    "session_end": "done",
    "error": "error",
    "warning": "warning",
    "ping": "ping",
    "heartbeat": "ping",
}
_EVIDENCE: Final = {
    "dataframe_data": 0.95,
    "token": 0.9,
    "final_answer": 0.9,
    "tool_call": 0.7,
    "tool_result": 0.7,
    "thinking": 0.6,
    "content": 0.55,
    "error": 0.5,
    "done": 0.5,
}
_TEXT: Final = ("content", "token", "text", "delta")
_TOOL_ID: Final = ("tool_id", "tool_call_id", "call_id", "id")
_TOOL_NAME: Final = ("tool_name", "name", "tool")
_TOOL_ARGUMENTS: Final = ("tool_args", "arguments", "args", "tool_input", "input")
_TOOL_RESULT: Final = ("result", "tool_output", "output", "tool_result", "content")
_PLAIN_TEXT: Final = frozenset({"type", "content"})
"""The fields of almost every event of a stream: nothing to look for."""

_ERROR_TEXT: Final = ("message", "error", "error_message")
_TABLE_NAME: Final = ("dataframe_name", "name")
_TABLE_ROWS: Final = ("rows", "data")
_META: Final = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "node_name")
_BOOKKEEPING: Final = (
    "type",
    "data",
    "metadata",
    "timestamp",
    "sequence",
    "request_id",
    "duration_ms",
    *_META,
)
_FAILED: Final = frozenset({"failed", "failure", "error"})
_ENDS: Final = {"error": "error", "failed": "error", "cancelled": "cancelled", "suspended": "suspended"}


class LegacyDecoder(Decoder):
    """Reads the old vocabulary, SSE or NDJSON, alone or mixed with standard events."""

    framing = "auto"

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Goes by the type, where the shape is the flat one."""
        return best_score(head, _evidence)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the event that `frame` holds."""
        if frame.data.strip() == b"[DONE]":
            self.complete = True
            return ()
        message = _message_of(frame)
        if message is None:
            return ()
        if not isinstance(message, dict):
            return (custom("message", message),)
        if is_standard(message):
            return (read_standard(message),)
        return self._read(message)

    def _read(self, message: dict[str, Any]) -> Iterable[Event]:
        nested = message.get("data")
        fields = {**nested, **message} if isinstance(nested, dict) else message
        match _ALIASES.get(text_of(message.get("type"))):
            case "content":
                return (Content(_text_in(fields), meta=_meta(fields, _TEXT)),)
            case "thinking":
                return (Thinking(_text_in(fields), meta=_meta(fields, _TEXT)),)
            case "final_answer":
                text = _text_in(fields)
                return (Content(text, is_complete=True, whole="repeat", meta=_meta(fields, _TEXT)),)
            case "tool_call":
                return (_tool_call(fields),)
            case "tool_result":
                return (_tool_result(fields),)
            case "dataframe_data":
                return (_dataframe(message),)
            case "session_start":
                return (
                    SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=_meta(fields)),
                )
            case "done":
                return (_done(fields),)
            case "error":
                return (_error(message),)
            case "warning":
                code = fields.get("message_code")
                return (
                    Warning(
                        _first(fields, ("message", *_TEXT)) or "", code if isinstance(code, str) else None
                    ),
                )
            case "ping":
                return ()
        return (
            custom(
                text_of(message.get("type")) or "message",
                leftover(message, ("type",)) or {},
                _meta_ids(fields),
            ),
        )


class LegacyEncoder(Encoder):
    """Writes the old vocabulary as its first producer did: `tool_args` as JSON text, tables by their old keys."""

    framings = ("sse", "ndjson")

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frame that says `event`, none where the old vocabulary has no word."""
        del stamp
        message = self._message(event)
        return () if message is None else (Frame(write_json(message)),)

    def _message(self, event: Event) -> dict[str, Any] | None:
        match event:
            case Content(content=text):
                if event.channel is not None:
                    self.lost["channel of text"] += 1
                return {"type": "token", "content": text} if text else None
            case Thinking(content=text):
                return {"type": "thinking", "content": text}
            case ToolCallStart():
                return {
                    "type": "tool_call",
                    "tool_id": event.tool_id,
                    "tool_name": event.tool_name,
                    "tool_args": write_json_text(event.arguments),
                    "status": "calling",
                }
            case ToolCallEnd():
                return _present(
                    type="tool_result",
                    tool_id=event.tool_id,
                    status="completed" if event.status == "success" else "failed",
                    result=event.result,
                    error=event.error["message"] if event.error else None,
                    duration_ms=(event.meta or {}).get("duration_ms"),
                )
            case Data(data_type="dataframe", data={"name": name, "columns": columns, "rows": rows}):
                table = {
                    "type": "dataframe_display",
                    "dataframe_name": name,
                    "columns": columns,
                    "data": rows,
                }
                return {"type": "dataframe_data", "data": table}
            case Error(terminal=True):
                return {"type": "error", "message": event.message, "code": event.code}
            case SessionEnd(status="completed"):
                return {"type": "done"}
            case SessionEnd(status="cancelled" | "suspended" as status):
                return {"type": "done", "status": status}
            case SessionStart() | SessionEnd() | ToolCallDelta():
                return None
        self.lost[event.type.replace("_", " ")] += 1
        return None


def _message_of(frame: Frame) -> Any:
    """The JSON of a frame; its event name stands in for a missing type, bare text for a missing object."""
    if not frame.data:
        return {"type": frame.event} if frame.event in _ALIASES else None
    try:
        message = frame.json()
    except MalformedEvent:
        if frame.event not in _ALIASES or frame.data.lstrip().startswith((b"{", b"[", b'"')):
            raise
        return {"type": frame.event, "content": frame.text}
    if frame.event is None or (isinstance(message, dict) and "type" in message):
        return message
    return (
        {**message, "type": frame.event}
        if isinstance(message, dict)
        else {"type": frame.event, "content": message}
    )


def _evidence(message: Mapping[str, Any], event: str | None) -> float:
    if is_standard(message):
        return 0.0
    return _EVIDENCE.get(text_of(message.get("type", event)), 0.0)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first of `names` that holds anything, as text."""
    return next((text_of(fields[name]) for name in names if fields.get(name) not in (None, "")), None)


def _text_in(fields: Mapping[str, Any]) -> str:
    data = fields.get("data")
    return _first(fields, _TEXT) or (data if isinstance(data, str) else "")


def _meta(fields: Mapping[str, Any], known: Iterable[str] = ()) -> Meta | None:
    if fields.keys() <= _PLAIN_TEXT:
        return None
    return meta_of(
        **{name: fields.get(name) for name in _META},
        duration_ms=milliseconds(fields.get("duration_ms")),
        extra=leftover(fields, {*_BOOKKEEPING, *known}),
    )


def _meta_ids(fields: Mapping[str, Any]) -> Meta | None:
    return meta_of(**{name: fields.get(name) for name in _META})


def _tool_call(fields: Mapping[str, Any]) -> Event:
    return ToolCallStart(
        tool_id=_first(fields, _TOOL_ID) or "",
        tool_name=_first(fields, _TOOL_NAME) or "unknown",
        description=_first(fields, ("description",)),
        arguments=arguments(next((fields[name] for name in _TOOL_ARGUMENTS if name in fields), None)),
        meta=_meta(fields, {*_TOOL_ID, *_TOOL_NAME, *_TOOL_ARGUMENTS, "description", "status"}),
    )


def _tool_result(fields: Mapping[str, Any]) -> Event:
    error = fields.get("error") or fields.get("error_message")
    status = text_of(fields.get("status")).lower()
    failed = status in _FAILED or (bool(error) and not status)
    return ToolCallEnd(
        tool_id=_first(fields, _TOOL_ID) or "",
        status="failed" if failed else "success",
        result=next((fields[name] for name in _TOOL_RESULT if fields.get(name) is not None), None),
        error=tool_error(error) if failed else None,
        tool_name=_first(fields, _TOOL_NAME),
        meta=_meta(fields, {*_TOOL_ID, *_TOOL_NAME, *_TOOL_RESULT, "status", "error", "error_message"}),
    )


def _dataframe(message: Mapping[str, Any]) -> Event:
    """Old keys, new keys, or the table's keys at the top level."""
    nested = message.get("data")
    table = nested if isinstance(nested, dict) else message
    rows = next((table[name] for name in _TABLE_ROWS if isinstance(table.get(name), list)), None)
    if rows is None and not isinstance(table.get("columns"), list):
        return custom("dataframe_data", leftover(message, ("type",)) or {}, _meta_ids(message))
    description = table.get("description")
    return Data(
        "dataframe",
        dataframe(_first(table, _TABLE_NAME), rows, table.get("columns")),
        {"description": description} if isinstance(description, str) else None,
        meta=_meta(table, {*_TABLE_NAME, *_TABLE_ROWS, "columns", "description"}),
    )


def _done(fields: Mapping[str, Any]) -> Event:
    known = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")
    usage = fields.get("usage")
    source = {**(usage if isinstance(usage, dict) else {}), **fields}
    summary = {name: source[name] for name in known if source.get(name) is not None}
    status: Any = _ENDS.get(text_of(fields.get("status")).lower(), "completed")
    return SessionEnd(status, summary=summary or None, meta=_meta(fields, {*known, "usage", "status"}))


def _error(message: Mapping[str, Any]) -> Event:
    error = message.get("error")
    nested = error if isinstance(error, dict) else message.get("data")
    fields = {**message, **nested} if isinstance(nested, dict) else message
    text = next(
        (fields[name] for name in _ERROR_TEXT if fields.get(name) and fields[name] is not nested), None
    )
    return upstream_error(
        text if text is not None else message.get("data"),
        code=fields.get("code", fields.get("error_code")),
        details=leftover(fields, {*_BOOKKEEPING, *_ERROR_TEXT, "code", "error_code"}),
        meta=_meta_ids(fields),
    )


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


DECODER = LegacyDecoder
ENCODER = LegacyEncoder
