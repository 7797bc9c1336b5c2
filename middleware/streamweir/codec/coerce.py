"""Small conversions that decoders share, for fields that may hold any value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeGuard

from streamweir.classification import classify_failure, is_overload
from streamweir.errors import MalformedEvent
from streamweir.events import META_TIMES, Data, Error, Event, Meta, ToolError, Warning
from streamweir.jsontext import text_of, write_json
from streamweir.optional_json import json_object

__all__ = [
    "and_extra",
    "arguments",
    "counts_in",
    "custom",
    "dataframe",
    "is_custom",
    "leftover",
    "message_meta",
    "meta_of",
    "milliseconds",
    "named_data",
    "object_in",
    "objects_in",
    "present",
    "present_texts",
    "same_as",
    "text_in",
    "text_of",
    "tool_error",
    "upstream_error",
    "upstream_warning",
]


_OBJECTS: Final = frozenset({"extra", "source", "private"})
LONGEST_MESSAGE: Final = 16 << 10
"""The longest text of a failure's message that is read; characters after it are never shown."""
_MOST_PARAMS: Final = 32
_LONGEST_PARAM: Final = 200
_LARGEST_DETAILS: Final = 64 << 10
_LARGEST_COUNT: Final = 1 << 53
_MANY: Final = 64
"""From this number of fields on, fields are looked up in a set, which is faster than comparing each name."""
_COLUMN_NAMES: Final = ("key", "field", "dataIndex", "name", "id")


def text_in(message: Mapping[str, Any], *names: str) -> str:
    """Return the first text of the fields `names` that is not empty; an empty text if there is none."""
    return next((text for name in names if (text := text_of(message.get(name)))), "")


def object_in(message: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the field `name` if it is an object, else an empty object."""
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list if `value` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def counts_in(usage: Any, names: Mapping[str, str]) -> dict[str, int]:
    """Return the counts of a `usage`, under the standard's names; implausible counts are left out.

    Args:
        usage: the object; another value has no counts.
        names: the standard's names, keyed by the upstream's names.
    """
    found = ((known, usage.get(name)) for name, known in names.items()) if isinstance(usage, dict) else ()
    return {known: count for known, count in found if is_count(count)}


def is_count(value: Any) -> TypeGuard[int]:
    """Return whether `value` is a plausible count: a whole number of 0 or more that a float can hold."""
    return type(value) is int and 0 <= value < _LARGEST_COUNT


def arguments(value: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; JSON text is parsed, other values are kept under `_raw`."""
    if isinstance(value, dict):
        return value
    if value is None or value == "":
        return {}
    parsed = json_object(value) if isinstance(value, str) else None
    return {"_raw": value} if parsed is None else parsed


def custom(name: str, value: Any, meta: Meta | None = None) -> Data:
    """Return the event for an upstream message that no rule reads: all of the message, under its own name."""
    return Data("custom", {"name": name or "custom", "value": value}, unknown=True, meta=meta)


def named_data(name: str, value: Any, meta: Meta | None = None) -> Data:
    """Return data that the dialect has a rule for, but the standard has no type for."""
    return Data("custom", {"name": name, "value": value}, meta=meta)


def is_custom(event: Event) -> bool:
    """Return whether `event` was made from a message that no rule reads.

    A stream of only such events does not prove its dialect.
    """
    return isinstance(event, Data) and event.data_type == "custom"


MAX_CELLS: Final = 200_000
"""The most cells that any table of objects may have, even if most cells are empty."""

_MOST_CELLS_PER_FIELD: Final = 16
"""The most cells that a larger table may have for each field that is given."""


def dataframe(name: Any, rows: Any, columns: Any = None) -> dict[str, Any]:
    """Return the data of a `dataframe`. Rows that are objects become lists in the order of the columns.

    Raises:
        MalformedEvent: the table would have far more cells than fields were given, because the rows have
            different fields.
    """
    rows = rows if isinstance(rows, list) else []
    if not isinstance(columns, list):
        columns = list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
    keys = [_column_key(column) for column in columns]
    objects = [row for row in rows if isinstance(row, dict)]
    if len(objects) * len(keys) > max(MAX_CELLS, _MOST_CELLS_PER_FIELD * sum(map(len, objects))):
        raise MalformedEvent("a table has too many cells that are empty")
    return {
        "name": text_of(name),
        "columns": columns,
        "rows": [
            [row.get(key) for key in keys]
            if isinstance(row, dict)
            else row
            if isinstance(row, list)
            else [row]
            for row in rows
        ],
    }


def _column_key(column: Any) -> str:
    """Return the key of a column in rows that are objects. A column may be described by an object."""
    if isinstance(column, dict):
        column = next((column[name] for name in _COLUMN_NAMES if isinstance(column.get(name), str)), None)
    return text_of(column)


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def present_texts(**fields: Any) -> dict[str, str]:
    """Return the fields that are texts and not empty."""
    return {name: value for name, value in fields.items() if isinstance(value, str) and value}


def leftover(message: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any] | None:
    """Return the fields of a message that are not null and not in `known`; None if no field is left."""
    if type(known) is frozenset and message.keys() <= known:
        return None
    if len(message) > _MANY:
        known = frozenset(known)
    rest = {key: value for key, value in message.items() if key not in known and value is not None}
    return rest or None


def meta_of(**fields: Any) -> Meta | None:
    """Return metadata without fields that are absent or blank; None if no field is left.

    A value that cannot be an id is kept in `extra`, under the standard's name.
    """
    meta: dict[str, Any] = {}
    unfit: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str) and name not in _OBJECTS:
            if value:
                meta[name] = value
        elif name in _OBJECTS:
            if value and isinstance(value, dict):
                meta[name] = value
        elif name in META_TIMES:
            if value is not None:
                meta[name] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            meta[name] = str(value)
        elif value:
            unfit[name] = value
    if unfit:
        meta["extra"] = {**unfit, **meta.get("extra", {})}
    return meta or None  # type: ignore[return-value]


def message_meta(message_id: Any) -> Meta | None:
    """Return `meta_of(message_id=message_id)`, which is the metadata of nearly all events of a stream."""
    if type(message_id) is str:
        return {"message_id": message_id} if message_id else None
    return meta_of(message_id=message_id)


def same_as(value: Any, message: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """Return the names, out of several names of one field, under which `message` holds `value`."""
    same = set()
    for name in names:
        if name in message:
            found = message[name]
            if found is value or found is None or found in ("", value):
                same.add(name)
    return same


def and_extra(meta: Meta | None, rest: Mapping[str, Any] | None) -> Meta | None:
    """Return `meta` with the fields `rest`, which no rule reads, added to its `extra`."""
    if not rest:
        return meta
    return {**(meta or {}), "extra": {**(meta or {}).get("extra", {}), **rest}}


def message_params(value: Any) -> dict[str, Any] | None:
    """Return the parameters of a text for translation: numbers and short strings by name, or None."""
    if not isinstance(value, Mapping):
        return None
    kept = {
        str(name)[:_LONGEST_PARAM]: item
        for name, item in islice(value.items(), _MOST_PARAMS)
        if isinstance(item, int | float) or (isinstance(item, str) and len(item) <= _LONGEST_PARAM)
    }
    return kept or None


def milliseconds(value: Any, *, scale: float = 1) -> int | None:
    """Return a duration as whole milliseconds: `value` times `scale`; None if it is no plausible number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return round(value * scale)


def upstream_error(  # noqa: PLR0913 (what an upstream may say of a failure)
    message: Any = None,
    *,
    code: Any = None,
    status: int | None = None,
    recoverable: bool | None = None,
    terminal: bool = True,
    for_users: bool | None = None,
    details: Any = None,
    meta: Meta | None = None,
) -> Error:
    """Return an error event of an upstream, classified by status, code and words.

    The event keeps the raw `message` until the safety stage, which sends it to clients only if `for_users` is
    set (None: the decoder's `errors_for_users` decides). `recoverable`: whether the upstream says that the
    request may be retried.
    """
    text = text_of(message)[:LONGEST_MESSAGE]
    found = classify_failure(text, code=code, status=status)
    return Error(
        error_type=found.error_type,
        code=found.code,
        message=text,
        recoverable=found.recoverable if recoverable is None else recoverable,
        terminal=terminal,
        details=details if details is None or len(write_json(details)) <= _LARGEST_DETAILS else None,
        for_users=for_users,
        reason=found.reason,
        is_overload=is_overload(code, status) or None,
        meta=meta,
    )


def upstream_warning(
    message: Any = None,
    *,
    code: str | None = None,
    detail: Any = None,
    for_users: bool | None = None,
    meta: Meta | None = None,
) -> Warning:
    """Return an upstream's warning event. The safety stage treats its `message` as in `upstream_error`."""
    return Warning(
        message=text_of(message)[:LONGEST_MESSAGE],
        message_code=code,
        detail=detail,
        for_users=for_users,
        meta=meta,
    )


def tool_error(message: Any = None, *, code: Any = None) -> ToolError:
    """Return the error of a failed call; the safety stage decides whether its `message` reaches clients."""
    return ToolError(
        code=code if isinstance(code, str) and code else "TOOL_FAILED",
        message=text_of(message)[:LONGEST_MESSAGE],
    )
