"""Checks events from code of other authors against the protocol, before the events enter a stream.

Source: the standard protocol 1.1, sections 1, 2 and 6. Types and closed lists come from the classes in
`events`; rules that a type cannot express are in the tables below: `_SHAPES` for every event, `_PROMISES` for
faults that the stages repair in a dialect, and of which an application that emits them should know. Free-form
values are replaced by the values that a reader of their JSON gets, so that no later step can fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec

from streamweir.codec.standard_shapes import is_opaque
from streamweir.errors import CODES, MACHINE_CODE, TOOL_CODES, EventValidationError, Reason
from streamweir.events import (
    FINISH_REASONS,
    META_IDS,
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
    Payload,
    Reference,
    SessionEnd,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.jsontext import plain_json

__all__ = ["TIMED", "checked_event", "checked_meta", "reasons_of_code", "shaped_event"]

E = TypeVar("E", bound=Event)

Check = Callable[[Any], Iterator[tuple[str, str]]]
"""Yields the problems of an event. Each problem is a field, and words that follow the name of the field."""

TIMED: Final = (ToolCallEnd, Status, SessionEnd)
"""The types of events that may have a duration."""

_NOT_IN_ERRORS: Final = frozenset({*TOOL_CODES, "CANCELLED"})
_CITATION: Final = frozenset({"id", "title", "url", "snippet", "document_id", "score"})
_QUESTION: Final = frozenset(
    {"text", "response_type", "options", "required", "text_code", "text_params", "option_codes"}
)
_SUMMARY: Final = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason", "duration_ms"),
        *("tool_calls", "events"),
    }
)
_END_REASONS: Final[dict[str, tuple[Reason, ...]]] = {
    "completed": ("done",),
    "suspended": ("interaction",),
    "cancelled": ("cancelled", "client_gone", "slow_client"),
}
_MORE_REASONS: Final[dict[str, tuple[Reason, ...]]] = {
    "UPSTREAM_TIMEOUT": ("connect_timeout", "first_event_timeout", "idle_timeout", "total_timeout"),
    "STREAM_LIMIT_EXCEEDED": ("malformed",),
}
_FILE_PLACES: Final = ("url", "base64", "file_id")
_FILE_KEYS: Final = frozenset({*_FILE_PLACES, "media_type", "name"})
_PATCH_OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy", "test"})

_PATH: Final = re.compile(r" - at `(?:key` in `)?\$\.?([^`]*+)`$")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")


def checked_event(cls: type[E], fields: Mapping[str, Any], meta: Meta | None = None) -> E:
    """Return an event of class `cls` with `fields`; fields whose value is None are left out.

    Raises:
        EventValidationError: the protocol forbids a value. No other error is raised.
    """
    event = shaped_event(cls, fields)
    _apply(_PROMISES, event)
    event.meta = meta
    return event


def shaped_event(cls: type[E], fields: Mapping[str, Any]) -> E:
    """Return an event of class `cls` with `fields`; values that the stages repair are not checked.

    Raises:
        EventValidationError: the protocol forbids a value, and no stage can repair it.
    """
    plain = {name: _plain(name, value) for name, value in fields.items() if value is not None}
    try:
        event = msgspec.convert(plain, cls)
    except msgspec.ValidationError as error:
        raise _explained(str(error)) from None
    _apply(_SHAPES, event)
    return event


def _apply(checks: Mapping[type[Any], Check], event: Event) -> None:
    check = checks.get(type(event))
    for field, problem in () if check is None else check(event):
        raise EventValidationError(field, problem)


def checked_meta(
    meta: Mapping[str, Any] | None, cls: type[Payload], *, allowed: Iterable[str]
) -> Meta | None:
    """Return `meta` if its keys are `allowed` and its values fit an event of this class.

    Raises:
        EventValidationError: a key is not allowed, or a value does not fit.
    """
    if not meta:
        return None
    if not isinstance(meta, Mapping):
        raise EventValidationError("meta", f"must be a mapping, not {type(meta).__name__}")
    checked: dict[str, Any] = {}
    for name, value in meta.items():
        if name not in allowed:
            raise EventValidationError(f"meta.{name}", "is not in the protocol")
        if value is None:
            continue
        if problem := _meta_problem(name, value, cls):
            raise EventValidationError(f"meta.{name}", problem)
        checked[name] = _plain(f"meta.{name}", value)
    return cast("Meta | None", checked or None)


def reasons_of_code(code: str) -> tuple[Reason, ...]:
    """Return the reasons with which a stream may end if its terminal error has this code."""
    row = CODES.get(code, CODES["UPSTREAM_ERROR"])
    return (row.reason, *_MORE_REASONS.get(code, ()))


def _plain(name: str, value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if kind is int or kind is bool:
        return value
    try:
        return plain_json(value)
    except ValueError as error:
        raise EventValidationError(name, str(error)) from None


def _explained(message: str) -> EventValidationError:
    """Return the error for an error message of msgspec, with the name of the field first."""
    if missing := _MISSING.match(message):
        path = _PATH.search(message)
        return EventValidationError(
            f"{path[1]}.{missing[1]}" if path and path[1] else missing[1], "is missing"
        )
    path = _PATH.search(message)
    problem = _PATH.sub("", message).replace("`", "")
    return EventValidationError(path[1] if path else "data", f"is wrong: {problem[:200]}")


def _meta_problem(name: str, value: Any, cls: type[Payload]) -> str | None:
    if name in META_IDS:
        return None if isinstance(value, str) and value else "must be a string that is not empty"
    if name == "duration_ms":
        if cls not in TIMED:
            return f"does not belong to {cls.type}"
        return None if _is_count(value) else "must be a whole number of milliseconds"
    if name == "upstream_time":
        return None if _is_count(value) else "must be a whole number of milliseconds"
    if name == "extra" and cls is Error:
        return "must not stand on an error"
    return None if isinstance(value, Mapping) else "must be a mapping"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# What the types cannot say


def _opaque(event: Content | Thinking | ToolCallStart) -> Iterator[tuple[str, str]]:
    if event.opaque is not None and not is_opaque(event.opaque):
        yield "opaque", "must be objects by the names of their dialects"


def _content(event: Content) -> Iterator[tuple[str, str]]:
    if event.channel == "":
        yield "channel", "must not be empty"
    yield from _opaque(event)


def _progress(event: ToolCallProgress) -> Iterator[tuple[str, str]]:
    if event.progress is not None and not 0 <= event.progress <= 1:
        yield "progress", "must be a number from 0 to 1, or None"


def _tool_start(event: ToolCallStart) -> Iterator[tuple[str, str]]:
    if not event.tool_name:
        yield "tool_name", "must not be empty"
    yield from _opaque(event)


def _tool_end(event: ToolCallEnd) -> Iterator[tuple[str, str]]:
    if event.error is not None and event.status != "failed":
        yield "error", "only when the status is 'failed'"


def _tool_error_code(event: ToolCallEnd) -> Iterator[tuple[str, str]]:
    if event.error is not None and not MACHINE_CODE.fullmatch(event.error["code"]):
        yield "error.code", f"must match {MACHINE_CODE.pattern}"


def _error_code(event: Error) -> Iterator[tuple[str, str]]:
    if not MACHINE_CODE.fullmatch(event.code):
        yield "code", f"must match {MACHINE_CODE.pattern}"
    if event.code in _NOT_IN_ERRORS:
        yield "code", f"cannot be {event.code}: that is no failure of a stream"


def _error(event: Error) -> Iterator[tuple[str, str]]:
    if event.retry_after_ms is not None and event.retry_after_ms < 0:
        yield "retry_after_ms", "must not be negative"
    if event.reason is not None and event.reason not in reasons_of_code(event.code):
        yield "reason", f"cannot be {event.reason!r} with the code {event.code}"


def _reference(event: Reference) -> Iterator[tuple[str, str]]:
    for index, citation in enumerate(event.citations):
        for name, value in citation.items():
            place = f"citations[{index}].{name}"
            if name not in _CITATION:
                yield place, "is not in the protocol"
            elif name == "score":
                if not _is_number(value):
                    yield place, "must be a number"
            elif not isinstance(value, str):
                yield place, "must be a string"


def _interaction_id(event: Interaction) -> Iterator[tuple[str, str]]:
    if not event.interaction_id:
        yield "interaction_id", "must not be empty"


def _interaction(event: Interaction) -> Iterator[tuple[str, str]]:
    for index, question in enumerate(event.questions or ()):
        place = f"questions[{index}]"
        for name in question.keys() - _QUESTION:
            yield f"{place}.{name}", "is not in the protocol"
        if not isinstance(question.get("text"), str):
            yield f"{place}.text", "must be a string"
        if question.get("response_type") not in ("single_choice", "free_text"):
            yield f"{place}.response_type", "must be 'single_choice' or 'free_text'"
        if not isinstance(question.get("options", []), list):
            yield f"{place}.options", "must be a list"
        if not isinstance(question.get("required", False), bool):
            yield f"{place}.required", "must be true or false"
        yield from _translation_keys(question, place)


def _translation_keys(question: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    if not isinstance(question.get("text_code", ""), str):
        yield f"{place}.text_code", "must be a string"
    if not isinstance(question.get("text_params", {}), dict):
        yield f"{place}.text_params", "must be a mapping"
    codes = question.get("option_codes")
    if "option_codes" in question and (
        not isinstance(codes, list) or len(codes) != len(question.get("options") or [])
    ):
        yield f"{place}.option_codes", "must be a list as long as options"


def _session_end(event: SessionEnd) -> Iterator[tuple[str, str]]:
    allowed = _END_REASONS.get(event.status)
    if event.reason is not None and allowed and event.reason not in allowed:
        yield "reason", f"cannot be {event.reason!r} with the status {event.status!r}"
    for name, value in (event.summary or {}).items():
        if name not in _SUMMARY:
            yield f"summary.{name}", "is not in the protocol"
        elif name == "finish_reason":
            if value is not None and value not in FINISH_REASONS:
                yield "summary.finish_reason", f"must be one of {', '.join(FINISH_REASONS)}"
        elif value is not None and not _is_count(value):
            yield f"summary.{name}", "must be a whole number of 0 or more"


def _data(event: Data) -> Iterator[tuple[str, str]]:
    if event.data_type == "state_delta":
        if not isinstance(event.data, list) or not all(map(_is_patch, event.data)):
            yield "data", "must be a JSON Patch: a list of operations"
    elif not isinstance(event.data, dict):
        yield "data", "must be an object"
    elif event.data_type == "dataframe":
        yield from _dataframe(event.data)
    elif event.data_type in ("image", "audio", "file"):
        yield from _file(event.data)
    elif event.data_type == "custom":
        yield from _custom(event.data)


def _dataframe(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _foreign(table, frozenset({"name", "columns", "rows"}))
    if not isinstance(table.get("name"), str):
        yield "data.name", "must be a string"
    if not isinstance(table.get("columns"), list):
        yield "data.columns", "must be a list"
    rows = table.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        yield "data.rows", "must be a list of lists"


def _file(file: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _foreign(file, _FILE_KEYS)
    if sum(name in file for name in _FILE_PLACES) != 1:
        yield "data", "must have either url or base64 or file_id"
    for name in (*_FILE_PLACES, "media_type"):
        if name in file and not (isinstance(file[name], str) and file[name]):
            yield f"data.{name}", "must be a string that is not empty"
    if "media_type" not in file and "file_id" not in file:
        yield "data.media_type", "is missing"
    if not isinstance(file.get("name", ""), str):
        yield "data.name", "must be a string"


def _custom(carrier: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _foreign(carrier, frozenset({"name", "value"}))
    if not (isinstance(carrier.get("name"), str) and carrier["name"]):
        yield "data.name", "must be a string that is not empty"
    if "value" not in carrier:
        yield "data.value", "is missing"


def _foreign(value: dict[str, Any], known: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name in value:
        if name not in known:
            yield f"data.{name}", "is not in the protocol"


def _is_patch(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("op"), str)
        and item["op"] in _PATCH_OPERATIONS
        and isinstance(item.get("path"), str)
    )


_SHAPES: Final[dict[type[Any], Check]] = {
    Thinking: _opaque,
    Content: _content,
    ToolCallStart: _tool_start,
    ToolCallProgress: _progress,
    ToolCallEnd: _tool_end,
    Data: _data,
    Reference: _reference,
    Interaction: _interaction,
    Error: _error,
}
_PROMISES: Final[dict[type[Any], Check]] = {
    ToolCallEnd: _tool_error_code,
    Interaction: _interaction_id,
    Error: _error_code,
    SessionEnd: _session_end,
}
