"""Reads each message of the old vocabulary; its fields may have any of their aliases."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Set
from functools import lru_cache
from typing import Any, Final, NamedTuple

from streamweir.codec.coerce import (
    arguments,
    custom,
    dataframe,
    leftover,
    meta_of,
    milliseconds,
    same_as,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.codec.standard_events import read_standard
from streamweir.dialects.legacy.shared_fields import (
    BOOKKEEPING,
    ERROR_TEXT,
    META,
    PLACES,
    SUMMARY,
    TABLE_NAME,
    TABLE_ROWS,
    TEXT,
    TOOL_ARGUMENTS,
    TOOL_ID,
    TOOL_NAME,
    TOOL_RESULT,
    UNDER_WAY,
    VERDICTS,
    WARNING_CODE,
)
from streamweir.events import (
    EVENT_TYPES,
    Content,
    Data,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    ToolError,
    Warning,
)

__all__ = ["READERS", "fields_of", "read_other"]

Message = Mapping[str, Any]

_META: Final = frozenset(META)
_TIMED_META: Final = _META | {"duration_ms"}
_BOOKKEEPING: Final = frozenset(BOOKKEEPING)

_NOTHING: Final[frozenset[str]] = frozenset()

_PLAIN_TEXT: Final = frozenset({"type", "content"})
"""The fields of almost every event of a stream; a message with only these fields is read quickly."""

_OF_CALLS: Final = frozenset({*BOOKKEEPING, "status"}) - _TIMED_META
"""The names that a plain message of a call may have besides the fields of the call."""
_MOST_CHARACTERS: Final = 512
"""The most characters of the names of a message that are kept."""

_TOOL_ERROR: Final = ("error", "error_message", "code")
_OF_RESULTS: Final = frozenset({*_TOOL_ERROR, "success", "is_error"})
_OF_GOOD_RESULTS: Final = _OF_RESULTS - {"code"}
_RESULT_PLACES: Final = (*TOOL_RESULT, "data")
_RETRY: Final = ("recoverable", "retryable", "retry")
_WARNING_TEXT: Final = ("message", *TEXT)
_TEXT_PLACES: Final = (*TEXT, "data")
_TEXTLESS: Final = (*BOOKKEEPING, *TEXT)
_FAILED: Final = frozenset({"failed", "failure", "error", "timeout", "cancelled", "canceled"})
_ENDS: Final = {
    **dict.fromkeys(("completed", "success", "done", "ok"), "completed"),
    **dict.fromkeys(("error", "failed"), "error"),
    **dict.fromkeys(("cancelled", "canceled", "stopped", "aborted"), "cancelled"),
    "suspended": "suspended",
}
"""The end of a run, by the words of a `status`."""
_VERDICTS: Final = VERDICTS | _FAILED


def fields_of(message: Message) -> Message:
    """Return the fields of a message, including those in `data` and `metadata` that it lacks."""
    fields: dict[str, Any] = {}
    for place in (message.get("metadata"), message.get("data"), message):
        if isinstance(place, dict):
            fields |= {name: value for name, value in place.items() if value is not None}
    for name in PLACES:
        if isinstance(message.get(name), dict):
            fields.pop(name, None)
    return fields


def _value(fields: Message, names: Iterable[str]) -> Any:
    """Return the first value that is not empty of the fields `names`."""
    return next((value for name in names if (value := fields.get(name)) is not None and value != ""), None)


def _first(fields: Message, names: Iterable[str]) -> str | None:
    """Return the first value that is not empty of the fields `names`, as text."""
    return _text_or_none(_value(fields, names))


def _text_in(fields: Message) -> Any:
    """Return the text under one of its names, or the value in the place of a text."""
    for name in TEXT:
        text = fields.get(name)
        if text is not None and text != "":
            return text
    data = fields.get("data")
    return data if isinstance(data, str) else ""


def _taken(fields: Message, names: Iterable[str], known: set[str]) -> Any:
    """Return the first value that is not empty of the fields `names`; None if there is none.

    The name of that field, and of fields with the same value or an empty value, are added to `known`.
    """
    found = None
    for name in names:
        if name in fields:
            value = fields[name]
            if value is None or value in ("", found):
                known.add(name)
            elif found is None:
                found = value
                known.add(name)
    return found


def _text_or_none(value: Any) -> str | None:
    return None if value is None else text_of(value)


def _meta(fields: Message, known: Set[str] = _NOTHING) -> Meta | None:
    rest = {
        name: value
        for name, value in fields.items()
        if name not in _BOOKKEEPING and name not in known and value is not None
    } or None
    if _TIMED_META.isdisjoint(fields):
        return None if rest is None else {"extra": rest}
    return meta_of(
        **{name: fields.get(name) for name in META},
        duration_ms=milliseconds(fields.get("duration_ms")),
        extra=rest,
    )


def _ids(fields: Message) -> Meta | None:
    return None if _META.isdisjoint(fields) else meta_of(**{name: fields.get(name) for name in META})


def _text_meta(fields: Message, text: Any) -> Meta | None:
    if len(fields) <= len(_PLAIN_TEXT) and fields.keys() <= _PLAIN_TEXT:
        return None
    return _meta(fields, same_as(text, fields, _TEXT_PLACES))


def _token(message: Message, fields: Message) -> Event:
    text = _text_in(fields)
    if text == "":
        return _without_text(message, fields)
    return Content(text if isinstance(text, str) else text_of(text), meta=_text_meta(fields, text))


def _thinking(message: Message, fields: Message) -> Event:
    text = _text_in(fields)
    if text == "":
        return _without_text(message, fields)
    return Thinking(text_of(text), meta=_text_meta(fields, text))


def _final_answer(message: Message, fields: Message) -> Event:
    """Return the event of a whole answer. The stages find out which of the earlier texts it repeats."""
    text = _text_in(fields)
    if text == "" and leftover(fields, _TEXTLESS):
        return _without_text(message, fields)
    return Content(text_of(text), is_complete=True, whole="repeat", meta=_text_meta(fields, text))


def _without_text(message: Message, fields: Message) -> Event:
    """Return the event of an empty piece; fields that no rule reads are kept."""
    if rest := leftover(fields, _TEXTLESS):
        return custom(text_of(message.get("type")), rest, _ids(fields))
    return Content("")


def _session_start(message: Message, fields: Message) -> Event:
    del message
    return SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=_meta(fields))


class _CallNames(NamedTuple):
    """The names of the fields of a call or a result, each once at most, in messages without other fields.

    Absent fields are None. `value` is the name of the arguments or the result.
    """

    tool_id: Any
    tool_name: Any
    value: Any
    has_status: bool


@lru_cache(maxsize=128)
def _call_names(names: tuple[str, ...], of_value: tuple[str, ...]) -> _CallNames | None:
    """Return the names of the fields, if a message with `names` is so plain; cached, because messages of one
    stream have the same names.
    """
    found = [[name for name in group if name in names] for group in (TOOL_ID, TOOL_NAME, of_value)]
    if max(map(len, found)) > 1 or {*names}.difference(_OF_CALLS, *found):
        return None
    tool_id, tool_name, value = (group[0] if group else None for group in found)
    return _CallNames(tool_id, tool_name, value, "status" in names)


def _plain_call(fields: Message, of_value: tuple[str, ...], words: Container[str]) -> _CallNames | None:
    """Return the names of the fields of a call, or of a result, with a status that is one of `words` or none;
    None for a message that has to be read field by field.
    """
    names = (*fields,)
    found = _call_names(names, of_value) if len("".join(names)) <= _MOST_CHARACTERS else None
    if found is None or not found.has_status:
        return found
    status = fields["status"]
    return found if type(status) is str and status.lower() in words else None


def _tool_call(message: Message, fields: Message) -> Event:
    del message
    if (plain := _plain_call(fields, TOOL_ARGUMENTS, UNDER_WAY)) is not None:
        name = text_of(fields.get(plain.tool_name)) or "unknown"
        return ToolCallStart(
            text_of(fields.get(plain.tool_id)), name, arguments=arguments(fields.get(plain.value))
        )
    known = {"description"}
    known.update(_word(fields, UNDER_WAY))
    description = fields.get("description")
    return ToolCallStart(
        tool_id=text_of(_taken(fields, TOOL_ID, known)),
        tool_name=text_of(_taken(fields, TOOL_NAME, known)) or "unknown",
        description=_text_or_none(None if description == "" else description),
        arguments=arguments(_taken(fields, TOOL_ARGUMENTS, known)),
        meta=_meta(fields, known),
    )


def _tool_result(message: Message, fields: Message) -> Event:
    del message
    if (plain := _plain_call(fields, _RESULT_PLACES, VERDICTS)) is not None:
        name = text_of(fields.get(plain.tool_name)) or None
        return ToolCallEnd(text_of(fields.get(plain.tool_id)), result=fields.get(plain.value), tool_name=name)
    error = fields.get("error") or fields.get("error_message")
    result = _result_in(fields)
    has_failed = _has_failed(fields, error)
    known = same_as(result, fields, _RESULT_PLACES)
    known |= _OF_RESULTS if has_failed else _OF_GOOD_RESULTS
    known.update(_word(fields, _VERDICTS))
    tool_id = _taken(fields, TOOL_ID, known)
    tool_name = _taken(fields, TOOL_NAME, known)
    return ToolCallEnd(
        tool_id=text_of(tool_id),
        status="failed" if has_failed else "success",
        result=result,
        error=_tool_error(error, fields.get("code")) if has_failed else None,
        tool_name=_text_or_none(tool_name),
        meta=_meta(fields, known),
    )


def _word(fields: Message, words: Container[str]) -> tuple[str, ...]:
    """Return the key `status` if its value is one of `words`; another value is kept under `extra`."""
    if "status" not in fields:
        return ()
    return ("status",) if text_of(fields["status"]).lower() in words else ()


def _result_in(fields: Message) -> Any:
    for name in _RESULT_PLACES:
        if (result := fields.get(name)) is not None:
            return result
    return None


def _has_failed(fields: Message, error: Any) -> bool:
    """Return whether a call failed: by its status, else by a flag, else by an error; never by its result."""
    if "status" in fields and (status := text_of(fields["status"]).lower()):
        return status in _FAILED
    return fields.get("success") is False or fields.get("is_error") is True or bool(error)


def _tool_error(error: Any, code: Any) -> ToolError:
    if isinstance(error, dict):
        return tool_error(error.get("message"), code=error.get("code", code))
    return tool_error(error, code=code)


def _dataframe(message: Message, fields: Message) -> Event:
    """Return a table with old keys, with new keys, or with its keys at the top level."""
    nested = message.get("data")
    table = nested if isinstance(nested, dict) else message
    rows = next((table[name] for name in TABLE_ROWS if isinstance(table.get(name), list)), None)
    if rows is None and (
        not isinstance(table.get("columns"), list) or any(table.get(name) for name in TABLE_ROWS)
    ):
        return custom("dataframe_data", leftover(message, ("type",)) or {}, _ids(message))
    description = table.get("description")
    known = {*same_as(rows, table, TABLE_ROWS), "columns", "description"}
    name = _text_or_none(_taken(table, TABLE_NAME, known))
    return Data(
        "dataframe",
        dataframe(name, rows, table.get("columns")),
        {"description": description} if isinstance(description, str) else None,
        meta=_meta({**fields, **table}, known),
    )


def _warning(message: Message, fields: Message) -> Event:
    del message
    code = next((fields[name] for name in WARNING_CODE if isinstance(fields.get(name), str)), None)
    return Warning(
        _first(fields, _WARNING_TEXT) or "",
        code,
        leftover(fields, {*BOOKKEEPING, *WARNING_CODE, *_WARNING_TEXT}),
        meta=_ids(fields),
    )


def _done(message: Message, fields: Message) -> Event:
    if len(message) == 1:  # only its type
        return SessionEnd()
    usage = fields.get("usage")
    source = {**usage, **fields} if isinstance(usage, dict) else {**fields}
    summary = {name: source[name] for name in SUMMARY if source.get(name) is not None}
    word = text_of(fields.get("status")).lower()
    status: Any = _ENDS.get(word, "completed")
    known = {*SUMMARY, *_word(fields, _ENDS)}
    if isinstance(usage, dict):
        source.pop("usage")
    return SessionEnd(status, summary=summary or None, meta=_meta(source, known))


def _error(message: Message, fields: Message) -> Event:
    """Return an error; every error of this vocabulary ends the run."""
    nested = fields.get("error")
    if isinstance(nested, dict):
        fields = {**fields, **nested}
    else:
        nested = None
    names = (*ERROR_TEXT, *TEXT)
    text = next((fields[name] for name in names if fields.get(name) and fields[name] is not nested), None)
    retry = next((fields[name] for name in _RETRY if isinstance(fields.get(name), bool)), None)
    return upstream_error(
        text if text is not None else message.get("data"),
        code=fields.get("code", fields.get("error_code")),
        recoverable=retry,
        details=leftover(fields, {*BOOKKEEPING, *names, *_RETRY, "code", "error_code"}),
        meta=_ids(fields),
    )


def read_other(message: Message, fields: Message) -> Event:
    """Return an event that the old vocabulary lacks, in the standard's form or as the application's."""
    kind = text_of(message.get("type"))
    if kind in EVENT_TYPES and isinstance(message.get("data"), dict):
        return read_standard(message)
    if kind == "tool_call_progress":
        return read_standard({"type": kind, "data": leftover(fields, ("type",)) or {}})
    rest = {**message}
    rest.pop("type", None)
    if None in rest.values():
        rest = leftover(rest, ()) or {}
    return custom(kind or "message", rest, _ids(fields))


READERS: Final[dict[str, Callable[[Message, Message], Event]]] = {
    "content": _token,
    "thinking": _thinking,
    "final_answer": _final_answer,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "dataframe_data": _dataframe,
    "session_start": _session_start,
    "done": _done,
    "error": _error,
    "warning": _warning,
}
"""The reader for each kind of message, which gets the message and its fields."""
