"""What clients of version 1.0 get: no word of a known type that 1.0 does not have."""

import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir.testing import check_stream

TYPES = {"dataframe", "chart", "image", "custom"}


@for_each("stream", recorded_streams(), group=dialect_of)
def test_stream_for_first_version_has_its_words_only(stream: Recorded) -> None:
    options = {stream.dialect: stream.options}
    options["standard"] = {**options.get("standard", {}), "version": "1.0"}
    output = translate([stream.body], speaks=stream.dialect, protocol_options=options)
    events = events_of(output)
    assert events[0]["data"]["protocol"] == "1.0"
    assert events[-1]["data"]["status"] in ("completed", "error", "cancelled")
    assert {event["data"]["data_type"] for event in events if event["type"] == "data"} <= TYPES
    assert not [event for event in events if event["data"].get("op") == "replace"]


@pytest.mark.parametrize("kind", ["audio", "file", "state", "state_delta"])
def test_data_of_a_later_kind_is_custom_with_its_name(kind: str) -> None:
    data = (
        [{"op": "add", "path": "/a", "value": 1}]
        if kind == "state_delta"
        else {"url": "u", "media_type": "m/m"}
    )
    body = (
        f'{{"type": "data", "data": {{"data_type": "{kind}", "data": {DUMPED[kind]}}}, "metadata": {{}}}}\n'
        '{"type": "session_end", "data": {"status": "completed"}, "metadata": {}}\n'
    ).encode()
    output = translate([body], speaks="standard", protocol_options={"standard": {"version": "1.0"}})
    found = [event["data"] for event in events_of(output) if event["type"] == "data"]
    assert found == [{"data_type": "custom", "data": {"name": kind, "value": data}}]
    assert check_stream(output, framing="ndjson") == []


DUMPED = {
    "state_delta": '[{"op": "add", "path": "/a", "value": 1}]',
    **dict.fromkeys(("audio", "file", "state"), '{"url": "u", "media_type": "m/m"}'),
}
