"""Calls of Gemini whose arguments arrive in pieces with paths."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases import for_each
from streams import events_of, translate


def body_of(*calls: dict[str, Any], reason: str = "STOP") -> bytes:
    parts = [[{"functionCall": call}] for call in calls]
    candidates: list[dict[str, Any]] = [{"content": {"role": "model", "parts": part}} for part in parts]
    candidates.append({"finishReason": reason})
    return b"".join(b"data: " + json.dumps({"candidates": [one]}).encode() + b"\n\n" for one in candidates)


def pieces_of(value: Any, path: str = "$") -> list[dict[str, Any]]:
    """Return `value` as pieces; each text in two."""
    if isinstance(value, dict):
        return [piece for key, held in value.items() for piece in pieces_of(held, f"{path}['{key}']")]
    if isinstance(value, list):
        return [piece for at, held in enumerate(value) for piece in pieces_of(held, f"{path}[{at}]")]
    if isinstance(value, str):
        half = len(value) // 2
        return [{"jsonPath": path, "stringValue": text} for text in (value[:half], value[half:])]
    if value is None:
        return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
    return [{"jsonPath": path, "boolValue" if isinstance(value, bool) else "numberValue": value}]


KEYS = st.text(st.characters(exclude_characters="'", codec="utf-8"), min_size=1, max_size=5)
LEAVES = st.text(st.characters(codec="utf-8"), max_size=5) | st.integers(0, 99) | st.booleans() | st.none()
VALUES = st.recursive(
    LEAVES,
    lambda held: st.lists(held, min_size=1, max_size=3) | st.dictionaries(KEYS, held, min_size=1, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
def test_arguments_in_pieces_are_those_that_were_cut(arguments: dict[str, Any]) -> None:
    pieces = [{"partialArgs": [piece], "willContinue": True} for piece in pieces_of(arguments)]
    events = events_of(
        translate([body_of({"name": "f", "willContinue": True}, *pieces, {})], speaks="gemini")
    )
    started = [event["data"] for event in events if event["type"] == "tool_call_start"]
    assert [(call["tool_name"], call["arguments"]) for call in started] == [("f", arguments)]
    assert events[-1]["data"]["status"] == "suspended"


@for_each("path", ["", "$", "a", "$.a[", "$.a[1]", "$.a.b.c" + ".d" * 60, "$.taken.x", "$.a[999999999]"])
def test_piece_whose_path_leads_nowhere_is_data(path: str) -> None:
    taken, lost = {"jsonPath": "$.taken", "stringValue": "x"}, {"jsonPath": path, "stringValue": "lost"}
    body = body_of({"name": "f", "partialArgs": [taken, lost]})
    events = events_of(translate([body], speaks="gemini"))
    (call,) = (event["data"] for event in events if event["type"] == "tool_call_start")
    assert call["arguments"]["taken"] == "x"
    (custom,) = (event["data"]["data"] for event in events if event["type"] == "data")
    assert custom == {"name": "partialArg", "value": lost}


@for_each("reason", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"])
def test_call_that_was_cut_short_is_not_handed_over(reason: str) -> None:
    piece = {"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "ha"}], "willContinue": True}
    events = events_of(translate([body_of(piece, reason=reason)], speaks="gemini"))
    assert not {event["type"] for event in events} & {"tool_call_start", "interaction"}
    assert events[-1]["data"]["status"] in ("completed", "error")


def test_call_in_a_stream_without_an_end_is_not_handed_over() -> None:
    piece = {"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "ha"}], "willContinue": True}
    body = body_of(piece).rpartition(b"data: ")[0]
    events = events_of(translate([body], speaks="gemini"))
    assert [event["type"] for event in events] == ["session_start", "error", "session_end"]


def test_pieces_beyond_the_limit_of_an_event_end_the_stream() -> None:
    piece = {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x" * 100}], "willContinue": True}
    body = body_of({"name": "f", "willContinue": True}, *[piece] * 100)
    events = events_of(translate([body], speaks="gemini", limits={"event_bytes": 4096}))
    assert [event["data"]["code"] for event in events if event["type"] == "error"] == [
        "STREAM_LIMIT_EXCEEDED"
    ]
