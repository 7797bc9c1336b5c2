"""Makes the JSON Schema of a dialect's file, for editors, from the tables by which the file is compiled."""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.mapped.conditions import CONDITION_KEYS
from streamweir.codec.mapped.dialect import DIALECT_KEYS
from streamweir.codec.mapped.event_fields import ENTRIES, META_FIELDS, EntryKind
from streamweir.codec.mapped.field_kinds import COUNT, FLAG, ID, OBJECT, FieldKind
from streamweir.codec.mapped.reading import FRAMINGS
from streamweir.codec.mapped.requests import HISTORIES
from streamweir.codec.mapped.writing import WRITE_FRAMINGS
from streamweir.events import EVENT_TYPES
from streamweir.requests.canonical import FIELDS

__all__ = ["dialect_definitions", "dialect_schema"]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_TEXTS: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_EXPRESSION: Final = {"$ref": "#/$defs/Expression"}
_TEMPLATE: Final = {"type": "string", "pattern": r"\$\{\{"}

_VALUES: Final = {"IdValue": ID, "CountValue": COUNT, "MappingValue": OBJECT, "FlagValue": FLAG}
"""The kinds of values that many fields have, by the names of their definitions."""


def dialect_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of a file that holds one dialect."""
    return {
        "$schema": _DRAFT,
        "title": "A home-made dialect of streamweir",
        "$ref": "#/$defs/Dialect",
        "$defs": dialect_definitions(),
    }


def dialect_definitions() -> dict[str, Any]:
    """Return the definitions that the schema of a dialect uses; `Dialect` is the schema of the whole file."""
    return {
        "Expression": {
            "type": "string",
            "maxLength": 1000,
            "description": "JMESPath, with or without ${{ }}",
        },
        "Match": _described(
            {"type": "object", "minProperties": 1}, "Fields of the message and their values."
        ),
        "Words": _list_of({"anyOf": [_TEXT, {"$ref": "#/$defs/Match"}]}),
        "Emit": _one_or_more({"$ref": "#/$defs/Entry"}),
        "Entry": {"anyOf": [{"$ref": "#/$defs/Group"}, *map(_event, ENTRIES)]},
        "Group": _mapping({"emit": {"$ref": "#/$defs/Emit"}, **_repetition()}, ["emit"]),
        "Rule": _rule(),
        "Frame": {"anyOf": [_TEXT, _frame()]},
        "WriteRule": _write_rule(),
        "Write": _write(),
        "Requests": _requests(),
        "Example": _example(),
        "Dialect": _dialect(),
        **{name: _literal_or_template(kind) for name, kind in _VALUES.items()},
    }


def _dialect() -> dict[str, Any]:
    keys: dict[str, Any] = {
        "extends": _described(_TEXT, "The dialect that takes what no rule does."),
        "framing": _described({"enum": [*FRAMINGS]}, "How the body is cut into frames (default: auto)."),
        "data": _described({"enum": ["json", "text"]}, "What a frame holds."),
        "unwrap": _described(_EXPRESSION, "The part of the JSON that counts as the message."),
        "rules": _described(_list_of({"$ref": "#/$defs/Rule"}), "The first that matches takes the frame."),
        "ignore": _described({"$ref": "#/$defs/Words"}, "Frames that say nothing."),
        "terminal": _described({"$ref": "#/$defs/Words"}, "Evidence of the end; eof: that of the body."),
        "errors_for_users": _described(_FLAG, "Its error texts are written for users."),
        "options": {
            "type": "object",
            "additionalProperties": {**_list_of({"type": ["string", "number", "boolean"]}), "minItems": 1},
            "description": "What `protocol_options` may choose; the first value is the default.",
        },
        "write": {"$ref": "#/$defs/Write"},
        "request": {"$ref": "#/$defs/Requests"},
        "examples": _described(_list_of({"$ref": "#/$defs/Example"}), "Run when the file is checked."),
    }
    return _mapping({key: keys[key] for key in DIALECT_KEYS})


def _example() -> dict[str, Any]:
    events = _list_of({"type": "object"})
    reading = {"in": {}, "event": _TEXT, "out": events, "stream": _TEXT, "gives": {"type": "object"}}
    requests = {"request": {"type": "object"}, "writes": {}, "request_body": {"type": "object"}}
    return _mapping(
        {**reading, "events": events, "sends": _list_of({}), **requests, "reads": {"type": "object"}}
    )


def _requests() -> dict[str, Any]:
    """Return the schema of `request`: bodies from clients, and bodies for upstreams."""
    return _mapping(
        {
            "write": _described(
                {"type": ["object", "array", "string"]},
                "The canonical request to a server's body; with `body` or `form`, `query`, `headers` beside.",
            ),
            "read": _described(
                _mapping({field: {} for field in FIELDS}), "A client's body to the canonical request."
            ),
            "history": _described(
                {"enum": [*HISTORIES]}, "What `write` wants of the conversation (default: last)."
            ),
        }
    )


def _rule() -> dict[str, Any]:
    conditions: dict[str, Any] = {
        "event": _described(_TEXTS, "The SSE event name, or one of them."),
        "match": {"$ref": "#/$defs/Match"},
        "has": _described(_TEXTS, "Paths that are present and not null."),
        "lacks": _described(_TEXTS, "Paths that are absent or null."),
        "text": _described(_TEXTS, "The raw text of the frame."),
        "prefix": _described(_TEXT, "What the raw text begins with; _text is the rest."),
        "when": _EXPRESSION,
    }
    actions = {
        "emit": {"$ref": "#/$defs/Emit"},
        "as": _described({}, "A message that is handed to the base."),
        "as_event": _TEXT,
        "remember": _described({"type": "object", "maxProperties": 16}, "Read as _state.NAME."),
    }
    return _mapping({**{key: conditions[key] for key in CONDITION_KEYS}, **actions})


def _event(name: str) -> dict[str, Any]:
    kind: EntryKind = ENTRIES[name]
    fields = {**kind.fields, **(META_FIELDS if kind.has_meta else {})}
    properties = {field: _value(what) for field, what in fields.items()}
    return _mapping({"type": {"const": name}, **properties, **_repetition()}, ["type", *kind.required])


def _value(kind: FieldKind) -> dict[str, Any]:
    """Return the schema for a fitting literal, an expression, or null."""
    name = next((name for name, known in _VALUES.items() if known.schema == kind.schema), None)
    return _literal_or_template(kind) if name is None else {"$ref": f"#/$defs/{name}"}


def _literal_or_template(kind: FieldKind) -> dict[str, Any]:
    return {"anyOf": [dict(kind.schema), _TEMPLATE, {"type": "null"}]} if kind.schema else {}


def _repetition() -> dict[str, Any]:
    return {"when": _EXPRESSION, "each": _EXPRESSION}


def _write() -> dict[str, Any]:
    framing: dict[str, Any] = {"enum": [*WRITE_FRAMINGS]}
    return _mapping(
        {
            "framing": _one_or_more(framing),
            "media_type": _TEXT,
            "data_prefix": {"enum": ["data: ", "data:"]},
            "heartbeat": {"enum": ["on", "off", True, False]},
            "replaces": _FLAG,
            "rules": _list_of({"$ref": "#/$defs/WriteRule"}),
        }
    )


def _write_rule() -> dict[str, Any]:
    name: dict[str, Any] = {"enum": [*EVENT_TYPES, "*"]}
    return _mapping(
        {
            "on": _one_or_more(name),
            "when": _EXPRESSION,
            "send": _one_or_more({"$ref": "#/$defs/Frame"}),
            "remember": {"type": "object", "maxProperties": 16},
        },
        ["on", "send"],
    )


def _frame() -> dict[str, Any]:
    return _mapping({"data": {}, "text": _TEXT, "event": _TEXT, "id": _TEXT, **_repetition()})


def _mapping(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    needed: dict[str, Any] = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_or_more(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, _list_of(item)]}


def _described(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}
