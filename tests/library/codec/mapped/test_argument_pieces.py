"""Arguments that arrive in pieces: whose they are, and when their call starts."""

from typing import Any

import pytest

from home_made import dialect, spoken, sse

RULES = """
  terminal: [eof]
  rules:
    - has: piece
      emit:
        type: tool_call_delta
        index: "${{ i }}"
        tool_id: "${{ id }}"
        tool_name: "${{ name }}"
        arguments_delta: "${{ piece }}"
    - has: start
      emit: {type: tool_call_start, tool_id: "${{ id }}", tool_name: "${{ name }}", arguments: "${{ args }}"}
    - {has: ask, emit: {type: interaction, kind: tool, interaction_id: "${{ id }}"}}
    - has: result
      emit: {type: tool_call_end, tool_id: "${{ id }}", tool_name: "${{ name }}", result: "${{ result }}"}
    - {emit: {type: session_end}}
"""


def calls(*messages: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Starts, as (name, arguments), and ends, as the result, in order."""
    found: list[tuple[Any, ...]] = []
    for event in spoken(dialect(RULES), sse(*messages, {"end": 1})):
        if event["type"] == "tool_call_start":
            found.append((event["tool_name"], event["arguments"]))
        elif event["type"] == "tool_call_end":
            found.append((event.get("result"),))
        elif event["type"] == "warning":
            found.append((event["message_code"],))
    return found


@pytest.mark.parametrize(
    "pieces",
    [
        [{"i": 0, "id": "a", "name": "f", "piece": '{"x"'}, {"i": 0, "piece": ": 1}"}],
        [{"id": "a", "name": "f", "piece": '{"x"'}, {"id": "a", "piece": ": 1}"}],
        [{"name": "f", "piece": '{"x"'}, {"name": "f", "piece": ": 1}"}],
        [{"name": "f", "piece": '{"x"'}, {"piece": ": 1}"}],
        [{"i": 0, "name": "f", "piece": '{"x"'}, {"i": 0, "id": "a", "piece": ": 1}"}],
        [{"i": 0, "id": "a", "name": "f", "piece": ""}, {"i": 0, "name": "", "piece": '{"x": 1}'}],
        [{"id": "a", "name": "f", "piece": {"x": 1}}],
    ],
)
@pytest.mark.parametrize("end", [{"result": "r"}, {"id": "a", "result": "r"}, {"name": "f", "result": "r"}])
def test_pieces_of_one_call_are_joined(pieces: list[dict[str, Any]], end: dict[str, Any]) -> None:
    assert calls(*pieces, end) == [("f", {"x": 1}), ("r",)]


def test_pieces_of_parallel_calls_are_assigned_by_index() -> None:
    assert calls(
        {"i": 0, "id": "a", "name": "f", "piece": "{"},
        {"i": 1, "id": "b", "name": "f", "piece": "{"},
        {"i": 0, "piece": '"x": 1}'},
        {"i": 1, "piece": '"x": 2}'},
        {"id": "b", "result": "2"},
        {"id": "a", "result": "1"},
    ) == [("f", {"x": 2}), ("2",), ("f", {"x": 1}), ("1",)]


def test_reused_index_begins_another_call() -> None:
    assert calls(
        {"i": 0, "id": "a", "name": "f", "piece": "{}"},
        {"id": "a", "result": "1"},
        {"i": 0, "id": "b", "name": "g", "piece": "{}"},
        {"id": "b", "result": "2"},
    ) == [("f", {}), ("1",), ("g", {}), ("2",)]


@pytest.mark.parametrize("id_of_start", ["a", None])
def test_explicit_start_without_arguments_gets_the_pieces(id_of_start: str | None) -> None:
    piece = {"id": "a", "name": "f", "piece": '{"x": 1}'}
    start = {"start": 1, "id": id_of_start, "name": "f"}
    assert calls(piece, start, {"result": "r"}) == [("f", {"x": 1}), ("r",)]
    own = {**start, "args": {"y": 2}}
    assert calls(piece, own, {"result": "r"}) == [("f", {"y": 2}), ("r",)]
    empty: dict[str, Any] = {**start, "args": {}}
    assert calls(piece, empty, {"result": "r"}) == [("f", {"x": 1}), ("r",)]


def test_pieces_behind_the_start_begin_no_second_call() -> None:
    assert calls(
        {"start": 1, "id": "a", "name": "f", "args": {"x": 1}},
        {"id": "a", "piece": '{"late": 1}'},
        {"id": "a", "result": "r"},
    ) == [("f", {"x": 1}), ("r",)]


def test_call_starts_before_its_interaction() -> None:
    piece, ask = {"id": "a", "name": "f", "piece": "{}"}, {"ask": 1, "id": "a"}
    found = spoken(dialect(RULES), sse(piece, ask))
    assert [event["type"] for event in found][:2] == ["tool_call_start", "interaction"]
    assert found[-1]["status"] == "error"  # what was asked of the client is no end of the stream


def test_truncated_arguments_are_kept_as_text() -> None:
    assert calls({"id": "a", "name": "f", "piece": '{"x": '}) == [("f", {"_raw": '{"x": '}), (None,)]


def test_streamed_pieces_have_the_id_of_their_call() -> None:
    messages = [{"i": 0, "id": "a", "name": "f", "piece": "{"}, {"i": 0, "piece": "}"}, {"result": "r"}]
    found = spoken(dialect(RULES), sse(*messages, {"end": 1}), stream_tool_arguments=True)
    assert [
        (event["tool_id"], event["arguments_delta"]) for event in found if event["type"] == "tool_call_delta"
    ] == [
        ("a", "{"),
        ("a", "}"),
    ]
