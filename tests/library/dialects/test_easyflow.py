"""What EasyFlow's and AIFlowy's own pages get."""

import json
from typing import Any

import pytest

from streams import events_of, translate


def event(kind: str, data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "metadata": metadata}


def written(*events: dict[str, Any], variant: str = "easyflow") -> list[tuple[str, dict[str, Any]]]:
    body = b"".join(json.dumps(item).encode() + b"\n" for item in events)
    options = {"easyflow": {"variant": variant}}
    output = translate([body], speaks="standard", answers="easyflow", framing="sse", protocol_options=options)
    blocks = [block.split(b"\n") for block in output.split(b"\n\n") if block]
    return [
        (name.removeprefix(b"event: ").decode(), json.loads(data.removeprefix(b"data: ")))
        for name, data in blocks
    ]


START = event("session_start", {"session_id": "s-1"}, thread_id="conv-1")
END = event("session_end", {"status": "completed", "summary": {"prompt_tokens": 3, "duration_ms": 9}})
ERROR = event(
    "error", {"error_type": "system", "code": "MODEL_DOWN", "message": "模型不可用", "terminal": True}
)


def text(content: str, message_id: str) -> dict[str, Any]:
    return event("content", {"content": content}, message_id=message_id)


def test_every_frame_has_the_mandatory_fields() -> None:
    for _, message in written(START, text("a", "m"), END):
        assert message["protocol"] == "easyflow-chat"
        assert message["version"] == "1.1"
        assert message["conversation_id"] == "conv-1"
        assert {"domain", "type", "payload"} <= message.keys()


def test_frame_index_counts_per_message() -> None:
    messages = written(START, text("a", "m"), text("b", "n"), text("c", "m"), END)
    indexes = [(message["message_id"], message["index"]) for _, message in messages if "index" in message]
    assert indexes == [("m", 0), ("n", 0), ("m", 1)]


def test_done_carries_the_usage() -> None:
    name, message = written(START, END)[-1]
    assert (name, message["type"]) == ("done", "done")
    assert message["meta"] == {"prompt_tokens": 3, "latency_ms": 9}


def test_error_event_is_the_last_frame() -> None:
    messages = written(START, text("a", "m"), ERROR)
    assert [name for name, _ in messages] == ["message", "message", "error"]
    assert messages[-1][1]["payload"] == {
        "code": "MODEL_DOWN",
        "message": "模型不可用",
        "retryable": True,
    }


def test_error_that_does_not_end_the_run_is_a_message() -> None:
    error = event("error", {"code": "RATE_LIMITED", "message": "m", "recoverable": True, "terminal": False})
    assert [name for name, _ in written(START, text("a", "m"), error, END)] == [*["message"] * 3, "done"]


def test_suspended_run_ends_without_done() -> None:
    form = event("interaction", {"interaction_id": "f", "kind": "form", "schema": {"type": "object"}})
    messages = written(START, form, event("session_end", {"status": "suspended"}))
    assert [name for name, _ in messages] == ["message"] * 3
    assert messages[-1][1]["payload"] == {"state": "suspended"}


def test_cancelled_run_is_done_with_status_cancelled() -> None:
    name, message = written(START, event("session_end", {"status": "cancelled"}))[-1]
    assert (name, message["meta"]["status"]) == ("done", "cancelled")


def test_aiflowy_has_upper_case_words_and_the_conversation_in_the_payload() -> None:
    _, message = written(START, text("a", "m"), END, variant="aiflowy")[1]
    assert (message["domain"], message["type"]) == ("LLM", "MESSAGE")
    assert message["payload"] == {"conversation_id": "conv-1", "role": "assistant", "delta": "a"}


def test_aiflowy_done_has_no_type_and_no_payload() -> None:
    name, message = written(START, END, variant="aiflowy")[-1]
    assert name == "done"
    assert not {"type", "payload"} & message.keys()


def test_aiflowy_pages_are_given_the_error_code_that_they_show() -> None:
    name, message = written(START, ERROR, variant="aiflowy")[-1]
    assert name == "error"
    assert message["payload"]["code"] == "SYSTEM_ERROR"
    assert message["payload"]["message"] == "模型不可用"


@pytest.mark.parametrize(("variant", "told"), [("easyflow", 1), ("aiflowy", 0)])
def test_progress_is_written_unless_a_page_reads_it_as_a_result(variant: str, told: int) -> None:
    call = event("tool_call_start", {"tool_id": "t", "tool_name": "n", "arguments": {}})
    progress = event("tool_call_progress", {"tool_id": "t", "progress": 0.5})
    messages = written(START, call, progress, END, variant=variant)
    assert sum(message.get("type", "").lower() == "tool_progress" for _, message in messages) == told


def test_unknown_events_keep_their_names_and_empty_data() -> None:
    body = (
        b'event: progress\ndata: {"x": 1}\n\nevent: beat\ndata: {}\n\n'
        b'event: message\ndata: {"domain": "audit", "type": "log", "payload": {}}\n\n'
        b'event: done\ndata: {"protocol": "easyflow-chat", "domain": "system", "type": "done"}\n\n'
    )
    found = [
        event["data"]["data"]
        for event in events_of(translate([body], speaks="easyflow"))
        if event["type"] == "data"
    ]
    assert found == [
        {"name": "progress", "value": {"x": 1}},
        {"name": "beat", "value": {}},
        {"name": "audit/log", "value": {}},
    ]
    anew = translate([body], speaks="easyflow", answers="easyflow", framing="sse", verbatim=False)
    assert b'"domain":"audit","type":"log"' in anew
