"""Truth and types of values, as JMESPath defines them."""

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
    """Return JMESPath's name of the type of a JSON value."""
    return _TYPE_NAMES.get(type(value), "unknown")


def is_true(value: Any) -> bool:
    """Return whether `value` is not null, false, `''`, `[]` or `{}`; 0 is true."""
    return bool(value) or (value == 0 and value is not False)
