"""Starts of calls whose arguments come in pieces behind them, in home-made dialects."""

from typing import Any

import pytest

from home_made import dialect, spoken, sse
from streams import events_of, translate

RULES = """
  terminal: [eof]
  rules:
    - has: piece
      emit:
        {type: tool_call_delta, index: "${{ i }}", tool_id: "${{ id }}", arguments_delta: "${{ piece }}"}
    - has: start
      emit: {type: tool_call_start, tool_id: "${{ id }}", tool_name: "${{ name }}", arguments: "${{ args }}"}
    - has: result
      emit: {type: tool_call_end, tool_id: "${{ id }}", tool_name: "${{ name }}", result: "${{ result }}"}
    - {has: text, emit: {type: content, content: "${{ text }}"}}
    - {has: thought, emit: {type: thinking, content: "${{ thought }}"}}
    - {has: ask, emit: {type: interaction, kind: approval, interaction_id: "${{ id }}"}}
    - {emit: {type: session_end}}
"""


def found(*messages: dict[str, Any]) -> list[tuple[Any, ...]]:
    kept: list[tuple[Any, ...]] = []
    for event in spoken(dialect(RULES), sse(*messages, {"end": 1})):
        match event["type"]:
            case "tool_call_start":
                kept.append((event["tool_name"], event["arguments"]))
            case "content" | "thinking" if event["content"]:
                kept.append((event["content"],))
            case "tool_call_end" | "interaction" as kind:
                kept.append((kind,))
    return kept


@pytest.mark.parametrize("args", [None, {}, ""])
@pytest.mark.parametrize(
    "then", [{"result": "r", "id": "a"}, {"text": "Hi"}, {"thought": "h"}, {"ask": 1, "id": "a"}]
)
def test_start_without_arguments_leaves_with_all_pieces(args: Any, then: dict[str, Any]) -> None:
    start = {"start": 1, "id": "a", "name": "f", "args": args}
    pieces = ({"id": "a", "piece": '{"x"'}, {"id": "a", "piece": ": 1}"})
    assert found(start, *pieces, then)[0] == ("f", {"x": 1})
    assert found(pieces[0], start, pieces[1], then)[0] == ("f", {"x": 1})


def test_start_with_arguments_leaves_at_once_and_keeps_them() -> None:
    start = {"start": 1, "id": "a", "name": "f", "args": {"y": 2}}
    assert found(start, {"text": "Hi"}, {"id": "a", "piece": '{"x": 1}'}) == [
        ("f", {"y": 2}),
        ("Hi",),
        ("tool_call_end",),
    ]


def test_pieces_with_an_index_belong_to_starts_in_their_order() -> None:
    assert found(
        {"start": 1, "id": "a", "name": "f"},
        {"start": 1, "id": "b", "name": "g"},
        {"i": 0, "piece": '{"x": 1}'},
        {"i": 1, "piece": '{"y": 2}'},
        {"text": "Hi"},
    )[:3] == [("f", {"x": 1}), ("g", {"y": 2}), ("Hi",)]


def test_text_behind_text_leaves_behind_a_start_that_waits() -> None:
    texts = [{"text": f"t{number}"} for number in range(30)]
    calls = ({"start": 1, "id": "a", "name": "f"}, {"id": "a", "piece": "{}"})
    assert found(*texts[:20], *calls, *texts[20:])[20] == ("f", {})


@pytest.mark.parametrize("size", [1, 7, 200, 10_000])
def test_texts_whose_frames_also_start_calls_leave_one_by_one(size: int) -> None:
    own = """
      terminal: [eof]
      rules:
        - has: piece
          emit: {type: tool_call_delta, tool_id: "${{ id }}", arguments_delta: "${{ piece }}"}
        - has: id
          emit:
            - {type: content, content: "${{ text }}"}
            - {type: tool_call_start, tool_id: "${{ id }}", tool_name: f}
        - {has: text, emit: {type: content, content: "${{ text }}"}}
    """
    body = sse(*({"text": f"t{number}", "id": "a"} for number in range(40)), {"text": "x"}, {"text": "y"})
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    said = [event["data"] for event in events_of(translate(pieces, speaks=dialect(own)))]
    told = [data.get("content") or data.get("tool_name") for data in said]
    told = [each for each in told if each]
    assert told == ["t0", "f", *(f"t{number}" for number in range(1, 40)), "x", "y"]


def test_start_without_pieces_leaves_without_arguments() -> None:
    assert found({"start": 1, "id": "a", "name": "f"}, {"result": 1, "id": "a"})[0] == ("f", {})


def test_session_start_needs_no_session_id() -> None:
    end = "{emit: [{type: content, content: x}, {type: session_end}]}"
    events = spoken(
        dialect(f"rules: [{{has: s, emit: {{type: session_start}}}}, {end}]"), sse({"s": 1}, {"e": 1})
    )
    assert "content" in [event["type"] for event in events]
