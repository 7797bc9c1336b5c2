"""Turns the text with which a person answers a form into values of its fields.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json
from streamweir.requests.decisions import decision_in

__all__ = ["form_values"]

_MOST_LINES: Final = 1000


def form_values(text: str, schema: Any) -> Any:
    """Return the values of a form's fields in `text`; the text itself if none of these rules applies:

    1. A JSON object holds the values.
    2. Lines of the form `name: value` hold them.
    3. If there are as many lines as fields, each line is the value of one field.
    4. If there is one field, or one that is required, the whole text is its value.

    Args:
        text: the person's answer.
        schema: the JSON Schema of the form.
    """
    fields = _fields_of(schema)
    if not fields:
        return text
    if (given := _object_in(text)) is not None:
        return given
    lines = [line.strip() for line in text.splitlines()[:_MOST_LINES] if line.strip()]
    if named := _named(lines, fields):
        return named
    if len(lines) == len(fields) > 1:
        return {name: _value(line, fields[name]) for name, line in zip(fields, lines, strict=True)}
    only = _only_field(schema, fields)
    return text if only is None else {only: _value(text, fields[only])}


def _fields_of(schema: Any) -> dict[str, Mapping[str, Any]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = properties if isinstance(properties, dict) else {}
    return {name: field if isinstance(field, dict) else {} for name, field in found.items()}


def _object_in(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = parse_json(text.encode("utf-8", "replace"))[0]
    except MalformedEvent:
        return None
    return found if isinstance(found, dict) else None


def _named(lines: list[str], fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the values by field if each line begins with a field's name or title; else None."""
    names = {str(field.get("title", name)).strip().casefold(): name for name, field in fields.items()}
    names |= {name.casefold(): name for name in fields}
    found: dict[str, Any] = {}
    for line in lines:
        label, colon, value = line.removeprefix("- ").replace("：", ":", 1).partition(":")
        name = names.get(label.strip().casefold())
        if not colon or name is None:
            return None
        found[name] = _value(value, fields[name])
    return found


def _only_field(schema: Mapping[str, Any], fields: Mapping[str, Any]) -> str | None:
    required = schema.get("required")
    needed = [name for name in required if name in fields] if isinstance(required, list) else []
    for names in ([*fields], needed):
        if len(names) == 1:
            return names[0]
    return None


def _value(text: str, field: Mapping[str, Any]) -> Any:
    """Return a text as an option or a value of the field's type; the text itself if it is neither."""
    text = text.strip()
    options = field.get("enum")
    for option in options if isinstance(options, list) else ():
        if str(option).casefold() == text.casefold():
            return option
    match field.get("type"):
        case "boolean":
            decided = decision_in(text)
            return text if decided is None else decided
        case "integer" | "number" as kind:
            return _number(text, whole=kind == "integer")
    return text


def _number(text: str, *, whole: bool) -> Any:
    try:
        found = parse_json(text.encode("utf-8", "replace"))[0]
    except MalformedEvent:
        return text
    kinds = int if whole else int | float
    return found if isinstance(found, kinds) and not isinstance(found, bool) else text
