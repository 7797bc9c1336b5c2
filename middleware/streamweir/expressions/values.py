"""The truth and the types of values in JMESPath."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["is_true", "type_name"]

_TYPE_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_name(value: Any) -> str:
    """Return the name of a JSON value's type in JMESPath."""
    return _TYPE_NAMES.get(type(value), "unknown")


def is_true(value: Any) -> bool:
    """Return whether a value is true: all are except null, false, `''`, `[]` and `{}`; 0 is true."""
    return bool(value) or (value == 0 and value is not False)
