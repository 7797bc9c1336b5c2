"""Reads the questions to a person: a choice, or a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, meta_of, object_in, text_of
from streamweir.events import Event, Interaction

__all__ = ["question"]

_TYPES: Final = {"numberInput": "number", "switch": "boolean"}
_PARAMS: Final = ("description", "userSelectOptions", "inputForm", "userSelectedVal", "submitted", "options")
_ID: Final = "interactive"
"""The id of every question: only one question is open at a time, and the server gives it no id."""


def question(asked: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterator[Event]:
    """Yield the question; the next message in the chat is its answer."""
    params = object_in(asked, "params")
    kind = asked.get("type")
    meta = meta_of(extra={**(leftover(asked, ("type", "params")) or {}), **(beside or {})})
    description = text_of(params.get("description")) or None
    if isinstance(options := params.get("userSelectOptions"), list):
        asked_for = {
            "text": description or "",
            "response_type": "single_choice",
            "options": _options(options),
        }
        yield Interaction(_ID, "questions", description=description, questions=[asked_for], meta=meta)
    elif isinstance(fields := params.get("inputForm"), list):
        yield Interaction(_ID, "form", description=description, schema=_schema(fields), meta=meta)
    else:
        yield Interaction(_ID, "continue", title=text_of(kind) or None, description=description, meta=meta)
    if rest := leftover(params, _PARAMS):
        yield custom("interactive", rest)


def _options(options: list[Any]) -> list[str]:
    return [text_of(option.get("value") if isinstance(option, dict) else option) for option in options]


def _schema(fields: list[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required = []
    for field in fields:
        name = text_of(field.get("key") or field.get("label")) if isinstance(field, dict) else ""
        if not name:
            continue
        properties[name] = {"type": _TYPES.get(text_of(field.get("type")), "string")}
        for ours, theirs in (("title", "label"), ("description", "description"), ("default", "defaultValue")):
            if field.get(theirs) not in (None, ""):
                properties[name][ours] = field[theirs]
        if isinstance(choices := field.get("list"), list) and choices:
            properties[name]["enum"] = _options(choices)
        if field.get("required") is True:
            required.append(name)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
