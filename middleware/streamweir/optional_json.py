"""Reads JSON that may be missing or broken, where that is not an error."""

from __future__ import annotations

from typing import Any

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json

__all__ = ["json_object", "json_or"]


def json_or(data: bytes | str, default: Any = None) -> Any:
    """Return the value of the JSON in `data`; `default` if `data` is not JSON."""
    try:
        return parse_json(data.encode("utf-8", "replace") if isinstance(data, str) else data)[0]
    except MalformedEvent:
        return default


def json_object(data: bytes | str) -> dict[str, Any] | None:
    """Return the JSON object in `data`; None if `data` is not JSON, or JSON of another type."""
    value = json_or(data)
    return value if isinstance(value, dict) else None
