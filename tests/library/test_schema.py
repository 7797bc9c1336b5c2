"""The JSON Schema that is shipped is the one that the event classes give, and every stream keeps it."""

import json

import jsonschema
import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir.events import EVENT_TYPES, WIRE_FIELDS
from streamweir.schema import PATH, protocol_schema
from streamweir.testing.shapes import DATA

SCHEMA = json.loads(PATH.read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_written_schema_equals_the_generated_one() -> None:
    assert protocol_schema() == SCHEMA, "run `python -m streamweir.schema`"


def test_protocol_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_conformance_kit_knows_the_same_fields() -> None:
    assert {name: set(WIRE_FIELDS[cls]) for name, cls in EVENT_TYPES.items()} == {
        name: set(shape) for name, shape in DATA.items()
    }


@pytest.mark.slow
@for_each("stream", recorded_streams(), group=dialect_of)
def test_recorded_streams_keep_it(stream: Recorded) -> None:
    options = {"speaks": stream.dialect, "protocol_options": {stream.dialect: stream.options}}
    for event in events_of(translate([stream.body], **options)):
        VALIDATOR.validate(event)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("nonsense", {}),
        ("content", {"content": 1}),
        ("content", {"content": "x", "format": None}),
        ("tool_call_progress", {"tool_id": "a", "progress": 2}),
        ("tool_call_progress", {"tool_id": "a"}),
        ("data", {"data_type": "dataframe", "data": {"name": "x"}}),
        ("data", {"data_type": "custom", "data": {"name": "x"}}),
        ("session_end", {"status": "completed"}),
    ],
)
def test_schema_refuses_data_of_a_wrong_shape(kind: str, data: dict[str, object]) -> None:
    assert not VALIDATOR.is_valid(with_metadata({"type": kind, "data": data}))


@pytest.mark.parametrize("event", [{}, {"type": "content", "data": {"content": "x"}}])
def test_schema_refuses_half_an_envelope(event: dict[str, object]) -> None:
    assert not VALIDATOR.is_valid(event)


def test_lets_later_versions_add_fields() -> None:
    assert VALIDATOR.is_valid(with_metadata({"type": "thinking", "data": {"content": "x", "mood": "good"}}))


def with_metadata(event: dict[str, object]) -> dict[str, object]:
    return {**event, "metadata": {"request_id": "r", "timestamp": 1, "sequence": 0, "region": "eu"}}
