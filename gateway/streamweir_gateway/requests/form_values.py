"""Reads a person's text as the values of a form, because a chat has text only.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.optional_json import json_object, json_or
from streamweir.requests.decisions import decision_in

__all__ = ["form_values"]

_MOST_LINES: Final = 1000


def form_values(text: str, schema: Any) -> Any:
    """Return the values of a form that `text` gives; the text itself if no values can be read from it.

    These forms are tried in order: a JSON object; lines as `name: value`; as many lines as the form has
    fields; the whole text as the only field, or as the only required field.

    Args:
        text: the text of the person.
        schema: the schema of the form, as JSON Schema.
    """
    fields = _fields_of(schema)
    if not fields:
        return text
    if text.lstrip().startswith("{") and (given := json_object(text)) is not None:
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


def _named(lines: list[str], fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the values by the fields' names or titles, if every line starts with one; else None."""
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
    """Return the text in the type of its field, or as the option that it names; otherwise unchanged."""
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
    found = json_or(text)
    kinds = int if whole else int | float
    return found if isinstance(found, kinds) and not isinstance(found, bool) else text
