"""The JSON Schema of the events on the wire, made from the classes in `events`.

Source: JSON Schema draft 2020-12; the standard protocol 1.1, sections 1 and 2. Unknown keys are allowed
everywhere, because a client has to ignore keys that a later version adds.

`python -m streamweir.schema` writes the schema to `protocol.schema.json` next to this module.
"""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, get_args

import msgspec
import orjson

from streamweir.errors import MACHINE_CODE, ErrorCode
from streamweir.events import EVENT_TYPES, PROTOCOL_VERSION, WIRE_FIELDS, Event, ToolError

__all__ = ["PATH", "protocol_schema", "write_schema"]

PATH: Final = Path(__file__).with_name("protocol.schema.json")

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Metadata(TypedDict):
    """The metadata of every event: its stream, and its place in the run."""

    request_id: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9._:-]{1,128}$")]
    timestamp: _Count
    sequence: _Count
    session_id: NotRequired[str]
    thread_id: NotRequired[str]
    message_id: NotRequired[str]
    run_id: NotRequired[str]
    parent_run_id: NotRequired[str]
    node_id: NotRequired[str]
    node_name: NotRequired[str]
    duration_ms: NotRequired[_Count]
    upstream_time: NotRequired[_Count]
    extra: NotRequired[dict[str, Any]]
    source: NotRequired[dict[str, Any]]


class Citation(TypedDict, total=False):
    """One source of the answer."""

    id: str
    title: str
    url: str
    snippet: str
    document_id: str
    score: float


class Question(TypedDict):
    """One question to a person."""

    text: str
    response_type: Literal["single_choice", "free_text"]
    options: NotRequired[list[Any]]
    required: NotRequired[bool]
    text_code: NotRequired[str]
    text_params: NotRequired[dict[str, Any]]
    option_codes: NotRequired[list[str | None]]


class Summary(TypedDict):
    """The totals of a stream."""

    duration_ms: _Count
    tool_calls: _Count
    events: _Count
    prompt_tokens: NotRequired[_Count]
    completion_tokens: NotRequired[_Count]
    total_tokens: NotRequired[_Count]
    finish_reason: NotRequired[Literal["stop", "length", "content_filter", "tool_calls"]]


class Dataframe(TypedDict):
    """A table."""

    name: str
    columns: list[Any]
    rows: list[list[Any]]


class File(TypedDict):
    """An image, a sound or any other file: its URL, or its bytes."""

    url: NotRequired[str]
    base64: NotRequired[str]
    file_id: NotRequired[str]
    media_type: NotRequired[str]
    name: NotRequired[str]


class PatchOperation(TypedDict):
    """One operation of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str


class Custom(TypedDict):
    """An upstream's own event."""

    name: str
    value: Any


_PARTS: Final = (Metadata, ToolError, Citation, Question, Summary, Dataframe, File, PatchOperation, Custom)

_FILLED_IN: Final[dict[str, frozenset[str]]] = {
    "session_start": frozenset({"session_id", "request_id"}),
    "session_end": frozenset({"reason"}),
}
"""Fields that every event of a stream has, even if an upstream leaves them out."""


def _reference(part: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{part}"}


def _list_of(part: str) -> dict[str, Any]:
    return {"type": "array", "items": _reference(part)}


_CLOSER: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("tool_call_progress", "progress"): {
        "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]
    },
    ("reference", "citations"): _list_of("Citation"),
    ("interaction", "questions"): _list_of("Question"),
    ("error", "code"): {
        "anyOf": [
            _reference("ErrorCode"),
            {"type": "string", "pattern": f"^{MACHINE_CODE.pattern}$"},
        ]
    },
    ("error", "retry_after_ms"): {"type": "integer", "minimum": 0},
    ("session_end", "summary"): _reference("Summary"),
}
"""Fields for which the protocol is stricter than their Python type."""

_BY_DATA_TYPE: Final[dict[str, dict[str, Any]]] = {
    "dataframe": _reference("Dataframe"),
    "chart": {"type": "object"},
    "image": _reference("File"),
    "audio": _reference("File"),
    "file": _reference("File"),
    "state": {"type": "object"},
    "state_delta": _list_of("PatchOperation"),
    "custom": _reference("Custom"),
}


_ERROR_CODE: Final[dict[str, Any]] = {
    "title": "ErrorCode",
    "description": "The protocol's own codes. It validates nothing: upstreams have codes beside these.",
    "enum": sorted(get_args(ErrorCode)),
}


def protocol_schema() -> dict[str, Any]:
    """Return the schema of one event on the wire."""
    classes = tuple(EVENT_TYPES.values())
    _, components = msgspec.json.schema_components((*classes, *_PARTS), ref_template="#/$defs/{name}")
    for component in components.values():  # before Python 3.13, docstrings keep their indentation
        component["description"] = cleandoc(component["description"])
    events = {cls.__name__: _event(cls, components[cls.__name__]) for cls in classes}
    parts = {part.__name__: components[part.__name__] for part in _PARTS}
    parts["ToolError"]["properties"]["code"] = {"anyOf": [_reference("ErrorCode"), {"type": "string"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"An event of the standard agent-event protocol {PROTOCOL_VERSION}",
        "oneOf": [_reference(name) for name in events],
        "$defs": {**events, **parts, "ErrorCode": _ERROR_CODE},
    }


def _event(cls: type[Event], component: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": cls.__name__,
        "description": component["description"],
        "type": "object",
        "properties": {
            "type": {"const": cls.type},
            "data": _data(cls, component["properties"]),
            "metadata": _reference("Metadata"),
        },
        "required": ["type", "data", "metadata"],
    }


def _data(cls: type[Event], properties: dict[str, Any]) -> dict[str, Any]:
    names = WIRE_FIELDS[cls]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _CLOSER.get((cls.type, name)) or _present(properties[name]) for name in names},
        "required": [name for name in names if _is_required(cls, name, properties[name])],
    }
    if cls.type == "data":
        schema["allOf"] = [
            {
                "if": {"properties": {"data_type": {"const": data_type}}},
                "then": {"properties": {"data": shape}},
            }
            for data_type, shape in _BY_DATA_TYPE.items()
        ]
    return schema


def _is_required(cls: type[Event], name: str, schema: dict[str, Any]) -> bool:
    may_be_absent = schema.get("default", ...) is None and name not in cls.nullable
    return not may_be_absent or name in _FILLED_IN.get(cls.type, ())


def _present(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field that is present: only in Python, absent fields are null."""
    kept = {key: value for key, value in schema.items() if key != "default"}
    if "anyOf" in kept:
        options = [option for option in kept.pop("anyOf") if option != {"type": "null"}]
        kept |= options[0] if len(options) == 1 else {"anyOf": options}
    if "enum" in kept:
        kept["enum"] = [word for word in kept["enum"] if word is not None]
    return kept


def write_schema(path: Path = PATH) -> None:
    """Write the schema to `path`."""
    path.write_bytes(orjson.dumps(protocol_schema(), option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    write_schema()
