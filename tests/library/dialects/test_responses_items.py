"""The calls of a Responses stream: their arguments in pieces, and the side that runs them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies

from streams import events_of, recorded_streams, sse_messages, translate

CALLS: Mapping[str, dict[str, Any]] = {
    "function_call": {"name": "weather", "arguments": '{"city": "Ulm"}'},
    "custom_tool_call": {"name": "sql", "input": "select 1"},
    "shell_call": {"action": {"commands": ["ls"]}, "environment": None},
    "local_shell_call": {"action": {"type": "exec", "command": ["ls"], "env": {}}},
    "computer_call": {"actions": [{"type": "wait"}]},
    "apply_patch_call": {"operation": {"type": "delete_file", "path": "a"}},
    "tool_search_call": {"execution": "client", "arguments": {"query": "mail"}},
}
ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "function_call": {"city": "Ulm"},
    "custom_tool_call": {"input": "select 1"},
    "shell_call": {"action": {"commands": ["ls"]}},
    "local_shell_call": {"action": {"type": "exec", "command": ["ls"], "env": {}}},
    "computer_call": {"actions": [{"type": "wait"}]},
    "apply_patch_call": {"operation": {"type": "delete_file", "path": "a"}},
    "tool_search_call": {"query": "mail"},
}


def call(kind: str, number: int = 1) -> dict[str, Any]:
    return {"type": kind, "id": f"item_{number}", "call_id": f"call_{number}", "status": "completed"} | CALLS[
        kind
    ]


def output(kind: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "type": kind.removesuffix("_call") + "_call_output",
        "id": f"out_{number}",
        "output": "done",
    }
    if kind == "tool_search_call":
        given = {"type": "tool_search_output", "id": f"out_{number}", "tools": []}
    return {**given, "call_id": f"call_{number}", **fields}


def body_of(*messages: Mapping[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()


def response(*items: Mapping[str, Any], status: str = "completed") -> bytes:
    """Return a stream of whole items."""
    done = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(items)
    ]
    begun: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    start = {"type": "response.created", "response": begun}
    end = {"type": f"response.{status}", "response": {**begun, "status": status, "output": [*items]}}
    return body_of(start, *done, end)


def read(body: bytes, **options: Any) -> list[dict[str, Any]]:
    return events_of(translate([body], speaks="openai-responses", **options))


def data_of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == kind]


@pytest.mark.parametrize("kind", CALLS)
def test_call_without_an_output_is_asked_of_the_client_at_the_end(kind: str) -> None:
    events = read(response(call(kind)))
    name = CALLS[kind].get("name", kind.removesuffix("_call"))
    (start,) = data_of(events, "tool_call_start")
    assert start == {"tool_id": "call_1", "tool_name": name, "arguments": ARGUMENTS[kind]}
    asked, end = events[-2:]
    assert asked["data"] == {
        "interaction_id": "call_1",
        "kind": "tool",
        "state": "requested",
        "title": name,
    }
    assert (end["data"]["status"], end["data"]["reason"]) == ("suspended", "interaction")


@pytest.mark.parametrize("kind", CALLS)
def test_call_with_its_output_is_no_request_to_the_client(kind: str) -> None:
    events = read(response(call(kind), output(kind)))
    assert data_of(events, "interaction") == []
    (end,) = data_of(events, "tool_call_end")
    assert (end["tool_id"], end["status"]) == ("call_1", "success")
    assert end["result"] == ([] if kind == "tool_search_call" else "done")
    assert events[-1]["data"]["status"] == "completed"


def test_calls_of_one_response_without_outputs_alone_are_asked_of_the_client() -> None:
    items = [call("function_call", 1), call("function_call", 2), output("function_call", 1)]
    events = read(response(*items))
    assert [asked["interaction_id"] for asked in data_of(events, "interaction")] == ["call_2"]
    assert events[-1]["data"]["status"] == "suspended"


def test_shell_call_in_a_container_is_never_asked_of_the_client() -> None:
    shell = call("shell_call") | {"environment": {"type": "container_reference", "container_id": "c"}}
    events = read(response(shell))
    assert data_of(events, "interaction") == []
    assert events[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_calls_of_a_response_that_failed_are_not_asked_of_the_client(status: str) -> None:
    body = body_of(
        {"type": "response.output_item.done", "output_index": 0, "item": call("function_call")},
        {"type": "response.failed", "response": {"id": "r", "status": status, "output": [], "error": None}},
    )
    assert data_of(read(body), "interaction") == []


FAILED: list[dict[str, Any]] = [
    {"status": "failed"},
    {"status": "incomplete"},
    {"output": [{"outcome": {"type": "timeout"}, "stdout": "", "stderr": ""}]},
    {"output": [{"outcome": {"type": "exit", "exit_code": 2}, "stdout": "", "stderr": ""}]},
]
RAN: list[dict[str, Any]] = [
    {"status": "completed"},
    {"status": None},
    {"output": [{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "", "stderr": ""}]},
    {"output": [{"type": "input_text", "text": "ok"}]},
]


@pytest.mark.parametrize(
    ("fields", "status"), [(case, "failed") for case in FAILED] + [(case, "success") for case in RAN]
)
def test_output_has_failed_by_its_status_or_by_its_outcome(fields: dict[str, Any], status: str) -> None:
    (end,) = data_of(read(response(call("shell_call"), output("shell_call", **fields))), "tool_call_end")
    assert end["status"] == status


def pieces_of(events: list[dict[str, Any]], tool_id: str) -> str:
    deltas = data_of(events, "tool_call_delta")
    return "".join(delta["arguments_delta"] for delta in deltas if delta["tool_id"] == tool_id)


def streamed(item: dict[str, Any], *deltas: Mapping[str, Any]) -> bytes:
    begun = {**item, "status": "in_progress"} | {name: "" for name in ("arguments", "input") if name in item}
    return body_of(
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        *({"output_index": 0, **delta} for delta in deltas),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}},
    )


@given(strategies.lists(strategies.text(min_size=1)))
def test_pieces_of_a_custom_input_are_the_json_of_the_arguments(pieces: list[str]) -> None:
    item = call("custom_tool_call") | {"input": "".join(pieces)}
    deltas = [{"type": "response.custom_tool_call_input.delta", "delta": piece} for piece in pieces]
    events = read(streamed(item, *deltas), stream_tool_arguments=True)
    (start,) = data_of(events, "tool_call_start")
    if pieces:
        assert json.loads(pieces_of(events, "call_1")) == start["arguments"]
    assert start["arguments"] == {"input": "".join(pieces)}


@given(strategies.lists(strategies.lists(strategies.text(min_size=1), min_size=1), min_size=1))
def test_pieces_of_shell_commands_are_the_json_of_the_arguments(commands: list[list[str]]) -> None:
    action = {"commands": ["".join(pieces) for pieces in commands], "timeout_ms": 5, "max_output_length": 9}
    deltas = [
        {"type": "response.shell_call_command.delta", "command_index": index, "delta": piece}
        for index, pieces in enumerate(commands)
        for piece in pieces
    ]
    events = read(streamed(call("shell_call") | {"action": action}, *deltas), stream_tool_arguments=True)
    assert json.loads(pieces_of(events, "call_1")) == {"action": action}


@given(strategies.lists(strategies.text(min_size=1), min_size=1))
def test_pieces_of_a_diff_are_the_json_of_the_arguments(pieces: list[str]) -> None:
    operation = {"type": "update_file", "path": "a", "diff": "".join(pieces)}
    deltas = [{"type": "response.apply_patch_call_operation_diff.delta", "delta": piece} for piece in pieces]
    item = call("apply_patch_call") | {"operation": operation}
    done = {"type": "response.apply_patch_call_operation_diff.done", "diff": operation["diff"]}
    events = read(streamed(item, *deltas, done), stream_tool_arguments=True)
    assert json.loads(pieces_of(events, "call_1")) == {"operation": operation}
    assert [start["arguments"] for start in data_of(events, "tool_call_start")] == [{"operation": operation}]
    assert data_of(events, "data") == []


def test_outputs_of_the_servers_searches_belong_to_the_calls_in_their_order() -> None:
    unnamed = {"call_id": None, "execution": "server", "status": "completed"}
    items: list[dict[str, Any]] = [
        {"type": "tool_search_call", "id": f"tsc_{number}", "arguments": {"paths": [f"p{number}"]}, **unnamed}
        for number in (1, 2)
    ]
    outputs: list[dict[str, Any]] = [
        {"type": "tool_search_output", "id": f"tso_{number}", "tools": [{"name": f"t{number}"}], **unnamed}
        for number in (1, 2)
    ]
    for order in ([*items, *outputs], [items[0], outputs[0], items[1], outputs[1]]):
        events = read(response(*order))
        assert [start["tool_id"] for start in data_of(events, "tool_call_start")] == ["tsc_1", "tsc_2"]
        ends = data_of(events, "tool_call_end")
        assert [(end["tool_id"], end["result"]) for end in ends] == [
            ("tsc_1", [{"name": "t1"}]),
            ("tsc_2", [{"name": "t2"}]),
        ]
        assert data_of(events, "warning") == []


def frames_for(target: str, name: str) -> list[dict[str, Any]]:
    (stream,) = [
        found
        for found in recorded_streams()
        if (found.dialect, found.path.stem) == ("openai-responses", name)
    ]
    body = translate([stream.body], speaks=stream.dialect, answers=target, framing="sse")
    return sse_messages(body)


def test_declared_function_is_handed_to_a_chat_client_in_pieces() -> None:
    calls = [
        piece
        for frame in frames_for("openai-chat", "client-calls")
        for choice in frame["choices"]
        for piece in choice["delta"].get("tool_calls", ())
        if piece["index"] == 0
    ]
    assert [call["function"].get("arguments") for call in calls if call["function"].get("arguments")] == [
        '{"n":1234567890123',
        ',"x":1.5}',
    ]
