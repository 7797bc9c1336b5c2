"""Gemini responses whose fields are in snake_case mean the same as those in camelCase."""

import json
import re
from typing import Any

from streams import recorded_streams
from streamweir import convert
from streamweir.dialects.gemini.decode_names import _APPLICATION

STREAMS = [
    stream for stream in recorded_streams() if stream.dialect == "gemini" and stream.path.suffix == ".sse"
]


def in_snake_case(value: Any) -> Any:
    if isinstance(value, list):
        return [in_snake_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): held
        if name in _APPLICATION
        else in_snake_case(held)
        for name, held in value.items()
    }


def renamed(body: bytes) -> bytes:
    def line(found: re.Match[bytes]) -> bytes:
        return b"data: " + json.dumps(in_snake_case(json.loads(found[1]))).encode()

    return re.sub(rb"^data: ?(\{.*\})\r?$", line, body, flags=re.MULTILINE)


def test_gemini_recorded_streams_in_snake_case_mean_the_same() -> None:
    changed = 0
    for stream in STREAMS:
        body = renamed(stream.body)
        changed += body != stream.body
        for speaks in ("gemini", "auto"):
            options: dict[str, Any] = {
                "clock": lambda: 0,
                "request_id": "r",
                "session_id": "s",
                "framing": "ndjson",
            }
            assert convert(body, speaks=speaks, **options) == convert(
                stream.body, speaks=speaks, **options
            ), stream.path.name
    assert changed > len(STREAMS) // 2


def test_gemini_arguments_and_texts_in_snake_case_are_unchanged() -> None:
    parts = [
        {"function_call": {"name": "w", "args": {"finish_reason": {"file_uri": 1}}}},
        {"text": '"mime_type"'},
    ]
    message = {"candidates": [{"content": {"parts": parts}, "finish_reason": "STOP"}]}
    out = convert(f"data: {json.dumps(message)}\n\n", speaks="gemini", framing="ndjson")
    events = [json.loads(line) for line in out.splitlines()]
    start = next(event for event in events if event["type"] == "tool_call_start")
    assert start["data"]["arguments"] == {"finish_reason": {"file_uri": 1}}
    assert any(event["data"].get("content") == '"mime_type"' for event in events)
    assert events[-1]["data"]["status"] == "suspended"
