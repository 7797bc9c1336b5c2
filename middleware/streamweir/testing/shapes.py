"""The fields of each event, as tables.

Source: the standard protocol 1.1, sections 1, 2 and 6. Written separately from `streamweir.events`, so that a
mistake in one of the two is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from streamweir.errors import MACHINE_CODE

__all__ = ["DATA", "METADATA", "breaches_of", "data_breaches"]

Check = Callable[[Any], str | None]
"""Returns the problem with a value, in words that follow the field's name; None if there is none."""


class Field(NamedTuple):
    """One field of an object."""

    check: Check
    required: bool = True


Shape = dict[str, Field]

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_LONGEST_MESSAGE: Final = 501  # 500 characters and the mark that something was cut off
_SECONDS: Final = range(
    10**9, 10**11
)  # 2001 to 5138 in seconds; as milliseconds these are January 1970 to 1973


def _of_type(kind: type | tuple[type, ...], words: str) -> Check:
    def check(value: Any) -> str | None:
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        return None if fits else f"must be {words}"

    return check


_text = _of_type(str, "a string")
_object = _of_type(dict, "an object")
_list = _of_type(list, "a list")
_flag = _of_type(bool, "true or false")
_number = _of_type((int, float), "a number")


def _anything(_value: Any) -> None:
    return None


def _filled(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "must be a string that is not empty"


def _count(value: Any) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if fits else "must be an integer of 0 or more"


def _objects_by_name(value: Any) -> str | None:
    fits = isinstance(value, dict) and value and all(name and isinstance(value[name], dict) for name in value)
    return None if fits else "must be an object for each of one or more dialects"


def _one_of(*allowed: Any) -> Check:
    def check(value: Any) -> str | None:
        fits = any(type(value) is type(item) and value == item for item in allowed)
        return None if fits else f"must be one of {', '.join(map(repr, allowed))}, not {str(value)[:40]!r}"

    return check


def _matching(pattern: re.Pattern[str]) -> Check:
    def check(value: Any) -> str | None:
        return (
            None if isinstance(value, str) and pattern.fullmatch(value) else f"must match {pattern.pattern}"
        )

    return check


def _safe_message(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "must be a string that is not empty"
    return None if len(value) <= _LONGEST_MESSAGE else "must have at most 500 characters"


def _timestamp(value: Any) -> str | None:
    return _count(value) or ("must be milliseconds, not seconds" if value in _SECONDS else None)


def _fraction(value: Any) -> str | None:
    if value is None:
        return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return None if fits else "must be a number from 0 to 1, or null"


def _objects(shape: Shape) -> Check:
    def check(value: Any) -> str | None:
        if not isinstance(value, list):
            return "must be a list"
        for index, item in enumerate(value):
            for breach in breaches_of(item, shape, f"[{index}]"):
                return f"is wrong at {breach}"
        return None

    return check


def _nested(shape: Shape) -> Check:
    def check(value: Any) -> str | None:
        return next((f"is wrong: {breach}" for breach in breaches_of(value, shape, "it")), None)

    return check


def _maybe(check: Check) -> Field:
    return Field(check, required=False)


METADATA: Final[Shape] = {
    "request_id": Field(_matching(_REQUEST_ID)),
    "timestamp": Field(_timestamp),
    "sequence": Field(_count),
    "session_id": _maybe(_filled),
    "thread_id": _maybe(_filled),
    "message_id": _maybe(_filled),
    "run_id": _maybe(_filled),
    "parent_run_id": _maybe(_filled),
    "node_id": _maybe(_filled),
    "node_name": _maybe(_filled),
    "duration_ms": _maybe(_count),
    "upstream_time": _maybe(_count),
    "extra": _maybe(_object),
    "source": _maybe(
        _nested({"dialect": Field(_filled), "event": _maybe(_anything), "raw": _maybe(_anything)})
    ),
}

_SUMMARY: Final[Shape] = {
    "prompt_tokens": _maybe(_count),
    "completion_tokens": _maybe(_count),
    "total_tokens": _maybe(_count),
    "finish_reason": _maybe(_one_of("stop", "length", "content_filter", "tool_calls")),
    "duration_ms": Field(_count),
    "tool_calls": Field(_count),
    "events": Field(_count),
}

_REASONS: Final = (
    *("done", "interaction", "upstream_error", "upstream_unreachable", "truncated"),
    *("connect_timeout", "first_event_timeout", "idle_timeout", "total_timeout", "malformed"),
    *("limit", "cancelled", "client_gone", "slow_client", "draining", "lost", "internal"),
)

DATA: Final[dict[str, Shape]] = {
    "session_start": {
        "session_id": Field(_filled),
        "request_id": Field(_filled),
        "protocol": Field(_one_of("1.1", "1.0")),
    },
    "thinking": {
        "content": Field(_text),
        "stage": _maybe(_one_of("reasoning", "planning", "analyzing")),
        "opaque": _maybe(_objects_by_name),
    },
    "tool_call_start": {
        "tool_id": Field(_filled),
        "tool_name": Field(_filled),
        "description": _maybe(_text),
        "arguments": Field(_object),
        "opaque": _maybe(_objects_by_name),
    },
    "tool_call_delta": {
        "tool_id": Field(_filled),
        "tool_name": _maybe(_filled),
        "arguments_delta": Field(_text),
    },
    "tool_call_progress": {
        "tool_id": Field(_filled),
        "progress": Field(_fraction),
        "message": _maybe(_text),
    },
    "tool_call_end": {
        "tool_id": Field(_filled),
        "status": Field(_one_of("success", "failed")),
        "result": _maybe(_anything),
        "error": _maybe(_nested({"code": Field(_matching(MACHINE_CODE)), "message": Field(_safe_message)})),
    },
    "content": {
        "content": Field(_text),
        "format": _maybe(_one_of("markdown", "text", "html")),
        "is_complete": _maybe(_flag),
        "op": _maybe(_one_of("append", "replace")),
        "channel": _maybe(_filled),
        "opaque": _maybe(_objects_by_name),
    },
    "data": {
        "data_type": Field(
            _one_of("dataframe", "chart", "image", "audio", "file", "state", "state_delta", "custom")
        ),
        "data": Field(_of_type((dict, list), "an object (state_delta: a list)")),
        "metadata": _maybe(_object),
    },
    "reference": {
        "citations": Field(
            _objects(
                {
                    "id": _maybe(_text),
                    "title": _maybe(_text),
                    "url": _maybe(_text),
                    "snippet": _maybe(_text),
                    "document_id": _maybe(_text),
                    "score": _maybe(_number),
                }
            )
        ),
    },
    "status": {
        "scope": Field(_one_of("session", "workflow", "node", "phase", "model", "skill", "queue")),
        "state": Field(
            _one_of("started", "running", "finished", "failed", "suspended", "resumed", "connected")
        ),
        "name": _maybe(_text),
        "detail": _maybe(_anything),
    },
    "warning": {
        "message": Field(_safe_message),
        "message_code": _maybe(_filled),
        "message_params": _maybe(_object),
        "detail": _maybe(_anything),
    },
    "interaction": {
        "interaction_id": Field(_filled),
        "kind": Field(_one_of("form", "questions", "approval", "tool", "handoff", "continue")),
        "state": Field(_one_of("requested", "cancelled", "resolved")),
        "title": _maybe(_text),
        "description": _maybe(_text),
        "schema": _maybe(_object),
        "ui": _maybe(_object),
        "questions": _maybe(
            _objects(
                {
                    "text": Field(_text),
                    "response_type": Field(_one_of("single_choice", "free_text")),
                    "options": _maybe(_list),
                    "required": _maybe(_flag),
                    "text_code": _maybe(_filled),
                    "text_params": _maybe(_object),
                    "option_codes": _maybe(_list),
                }
            )
        ),
        "resume": _maybe(_object),
    },
    "error": {
        "error_type": Field(_one_of("validation", "execution", "timeout", "system")),
        "code": Field(_matching(MACHINE_CODE)),
        "message": Field(_safe_message),
        "message_code": _maybe(_filled),
        "message_params": _maybe(_object),
        "recoverable": Field(_flag),
        "retry_after_ms": _maybe(_count),
        "terminal": Field(_flag),
        "details": _maybe(_anything),
    },
    "session_end": {
        "status": Field(_one_of("completed", "error", "cancelled", "suspended")),
        "reason": Field(_one_of(*_REASONS)),
        "summary": _maybe(_nested(_SUMMARY)),
    },
}

_FILE_PLACES: Final = ("url", "base64", "file_id")
_FILE: Final[Shape] = {
    "url": _maybe(_filled),
    "base64": _maybe(_filled),
    "file_id": _maybe(_filled),
    "media_type": _maybe(_filled),
    "name": _maybe(_text),
}
_BY_DATA_TYPE: Final[dict[str, Shape]] = {
    "dataframe": {"name": Field(_text), "columns": Field(_list), "rows": Field(_list)},
    "image": _FILE,
    "audio": _FILE,
    "file": _FILE,
    "custom": {"name": Field(_filled), "value": Field(_anything)},
}
_PATCH_OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy", "test"})


def breaches_of(value: Any, shape: Shape, place: str) -> Iterator[str]:
    """Yield the reasons why `value` is not an object of the form `shape`."""
    if not isinstance(value, dict):
        yield f"{place} must be an object"
        return
    for name, field in shape.items():
        if name not in value:
            if field.required:
                yield f"{place}.{name} is missing"
        elif problem := field.check(value[name]):
            yield f"{place}.{name} {problem}"
    for name in value:
        if name not in shape:
            yield f"{place}.{str(name)[:40]} is not in the protocol"


def data_breaches(data_type: Any, data: Any) -> Iterator[str]:
    """Yield the reasons why `data` does not have the form that its `data_type` requires."""
    if data_type == "state_delta":
        if not isinstance(data, list) or not all(map(_is_patch, data)):
            yield "data.data must be a JSON Patch: a list of operations"
        return
    if not isinstance(data, dict):
        yield "data.data must be an object"
        return
    if data_type in _BY_DATA_TYPE:
        yield from breaches_of(data, _BY_DATA_TYPE[data_type], "data.data")
    if data_type in ("image", "audio", "file") and sum(name in data for name in _FILE_PLACES) != 1:
        yield "data.data must have either url or base64 or file_id"
    if data_type == "dataframe":
        rows = data.get("rows")
        if isinstance(rows, list) and not all(isinstance(row, list) for row in rows):
            yield "data.data.rows must be a list of lists"


def _is_patch(item: Any) -> bool:
    return (
        isinstance(item, dict) and item.get("op") in _PATCH_OPERATIONS and isinstance(item.get("path"), str)
    )
