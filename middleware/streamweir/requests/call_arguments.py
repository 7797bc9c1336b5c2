"""The arguments of a call: an object, and the client's JSON text if the object's text differs."""

from __future__ import annotations

import json
from typing import Any

import orjson

from streamweir.jsontext import same_json, write_json_text
from streamweir.optional_json import json_object, json_or
from streamweir.requests.canonical import Opaque, ToolCall

__all__ = ["arguments_object", "arguments_of", "arguments_text_of", "made_call", "text_of_arguments"]


def arguments_of(value: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; a value that is not an object is put under `_raw`."""
    if isinstance(value, dict):
        return value
    if value is None or value == "":
        return {}
    if not isinstance(value, str):
        return {"_raw": write_json_text(value)}
    found = json_object(value)
    return {"_raw": value} if found is None else found


def made_call(
    call_id: str, name: str, value: Any, *, text: Any = None, opaque: Opaque | None = None
) -> ToolCall:
    """Return a canonical call made from a client's fields.

    Args:
        call_id: its id.
        name: the name of the tool.
        value: the arguments: an object, or its JSON as a text.
        text: the client's JSON text if `value` is an object; ignored unless it is the JSON of that object.
        opaque: the opaque value of the call.
    """
    value = text if value is None and isinstance(text, str) else value
    call: ToolCall = {"id": call_id, "name": name, "arguments": arguments_of(value)}
    if not isinstance(value, dict):
        text = value
    elif not (isinstance(text, str) and same_json(json_or(text), value)):
        text = _exact_text(value)
    if text and isinstance(text, str) and text != text_of_arguments(call["arguments"]):
        call["arguments_text"] = text
    if opaque:
        call["opaque"] = opaque
    return call


def arguments_text_of(call: ToolCall) -> str:
    """Return a call's arguments as JSON text: the client's text if there is one, else the object as JSON."""
    return call.get("arguments_text") or text_of_arguments(call["arguments"])


def arguments_object(call: ToolCall) -> dict[str, Any] | orjson.Fragment:
    """Return a call's arguments as an object: the client's own JSON if it is valid."""
    text = call.get("arguments_text")
    if text is None:
        return call["arguments"]
    try:
        return orjson.Fragment(text) if isinstance(orjson.loads(text), dict) else call["arguments"]
    except orjson.JSONDecodeError:
        return call["arguments"]


def text_of_arguments(arguments: dict[str, Any]) -> str:
    """Return an object of arguments as JSON text; if `_raw`, a text, is the only field, return that."""
    raw = arguments.get("_raw")
    return raw if isinstance(raw, str) and len(arguments) == 1 else write_json_text(arguments)


def _exact_text(arguments: dict[str, Any]) -> str | None:
    """Return the JSON of arguments with integers beyond 64 bits, which orjson would write as texts."""
    try:
        orjson.dumps(arguments)
    except TypeError:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), default=str)
    return None
