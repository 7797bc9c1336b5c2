"""What the chat app's own pages get."""

import json
from typing import Any

from streams import translate

KEYS = [
    "type",
    "thread_id",
    "run_id",
    "node_name",
    "timestamp",
    "tags",
    "trace_id",
    "observation_id",
    "parent_observation_id",
    "data",
]


def event(kind: str, data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "metadata": metadata}


def written(*events: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    body = b"".join(json.dumps(item).encode() + b"\n" for item in events)
    chosen = {"protocol_options": {"stream-envelope": options}} if options else {}
    output = translate([body], speaks="standard", answers="stream-envelope", framing="sse", **chosen)
    return [json.loads(block.removeprefix(b"data: ")) for block in output.split(b"\n\n") if block]


START = event("session_start", {"session_id": "s-1"}, thread_id="th-1")
TEXT = event("content", {"content": "hi"}, message_id="m-1", node_name="agent")
QUESTION = event(
    "interaction", {"interaction_id": "f", "kind": "form", "title": "Trip", "resume": {"form_id": "f"}}
)
END = event("session_end", {"status": "completed", "summary": {"total_tokens": 7}})
WAITING = event("session_end", {"status": "suspended"})


def test_every_frame_has_all_keys_of_the_envelope() -> None:
    messages = written(START, TEXT, END)
    assert [list(message) for message in messages] == [KEYS] * 3
    assert {message["thread_id"] for message in messages} == {"th-1"}
    assert [message["node_name"] for message in messages] == ["system", "agent", "system"]


def test_connected_is_first_and_done_is_last() -> None:
    messages = written(START, TEXT, END)
    assert messages[0]["data"] == {"status": "connected"}
    assert messages[-1]["type"] == "done"
    assert messages[-1]["data"] == {"total_tokens": 7}


def test_missing_thread_is_replaced_by_the_session() -> None:
    assert written(event("session_start", {"session_id": "s-1"}), END)[0]["thread_id"] == "s-1"


def test_cancelled_run_is_stopped_by_the_user() -> None:
    last = written(START, TEXT, event("session_end", {"status": "cancelled"}))[-1]
    assert (last["type"], last["data"]) == ("error", {"message": "Stream stopped", "code": "stopped"})


def test_question_that_waits_is_the_interrupt_that_ends_the_stream() -> None:
    kinds = [message["type"] for message in written(START, TEXT, QUESTION, WAITING)]
    assert kinds == ["status", "content", "interrupt"]


def test_question_before_further_events_is_no_interrupt() -> None:
    kinds = [message["type"] for message in written(START, QUESTION, TEXT, END)]
    assert kinds == ["status", "state_update", "content", "done"]


def test_suspended_run_that_asked_nothing_still_ends_with_an_interrupt() -> None:
    assert written(START, TEXT, WAITING)[-1]["type"] == "interrupt"


def test_error_that_does_not_end_the_run_is_no_error_event() -> None:
    error = event("error", {"code": "RATE_LIMITED", "message": "m", "recoverable": True, "terminal": False})
    kinds = [message["type"] for message in written(START, error, TEXT, END)]
    assert kinds == ["status", "state_update", "content", "done"]


def test_pieces_of_one_thought_are_one_step() -> None:
    think = event("thinking", {"content": "a"})
    messages = written(START, think, think, TEXT, think, END)
    steps = [message["data"]["step"] for message in messages if message["type"] == "code_agent_thought"]
    assert steps == [1, 1, 2]


def test_old_form_is_flat_and_has_the_stop_flag() -> None:
    call = event("tool_call_start", {"tool_id": "t", "tool_name": "n", "arguments": {"a": 1}})
    messages = written(START, TEXT, call, event("session_end", {"status": "cancelled"}), form="old")
    assert messages[:3] == [
        {"type": "thread_id", "thread_id": "th-1"},
        {"type": "content", "content": "hi", "thread_id": "th-1"},
        {"type": "tool_start", "tool_name": "n", "tool_input": {"a": 1}, "thread_id": "th-1"},
    ]
    assert messages[-1] == {"stopped": True, "thread_id": "th-1"}
