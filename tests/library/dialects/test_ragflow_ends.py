"""`message_end` ends an answer for RAGFlow's own clients: it is written once, behind a whole answer only."""

import json
from typing import Any

import pytest

from cases import for_each
from streams import Recorded, dialect_of, recorded_streams, translate
from streamweir import convert


def frames(output: bytes) -> list[Any]:
    lines = [line.removeprefix("data:") for line in output.decode().splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@for_each("stream", recorded_streams(), group=dialect_of)
@pytest.mark.parametrize("events", ["all", "filtered"])
def test_message_end_is_written_at_most_once_and_last(stream: Recorded, events: str) -> None:
    options = {stream.dialect: stream.options}
    options["ragflow"] = {**options.get("ragflow", {}), "form": "agent", "events": events}
    if stream.dialect == "ragflow":
        del options["ragflow"]["form"]
    given: dict[str, Any] = {"answers": "ragflow", "framing": "sse", "verbatim": False}
    written = frames(translate([stream.body], speaks=stream.dialect, **given, protocol_options=options))
    names = [frame.get("event") if "code" not in frame else "failure" for frame in written]
    assert names.count("message_end") <= 1
    if "message_end" in names:
        assert "message" not in names[names.index("message_end") :]
        assert "failure" not in names


def test_options_of_form_have_the_stream_written_anew() -> None:
    body = b'data:{"code":0,"data":{"answer":"Hi","reference":{}}}\n\ndata:{"code":0,"data":true}\n\n'
    given: dict[str, Any] = {"speaks": "ragflow", "answers": "ragflow", "framing": "sse"}
    assert convert(body, **given) == body
    for option in ({"form": "agent"}, {"answer": "cumulative"}):
        assert convert(body, **given, protocol_options={"ragflow": option}) != body
