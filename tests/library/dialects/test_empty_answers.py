"""Streams that end well without an answer: alien, renamed, empty ones, in every dialect."""

import json

import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir.codec.registry import process_dialects

NO_WARNINGS = ("openai-chat", "openai-responses", "anthropic")

ALIEN = b'data: {"zz_type": "zz_unheard_of", "zz_value": {"a": 1}}\n\n' * 3

ENDS: dict[str, bytes] = {
    "a2a": b'data: {"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}\n\n',
    "ag-ui": b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n',
    "agno": b'event: RunCompleted\ndata: {"event":"RunCompleted","run_id":"r","agent_id":"a"}\n\n',
    "anthropic": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "coze": b"event: done\ndata: [DONE]\n\n",
    "data-formulator": b'data: {"type":"done","full_text":""}\n\n',
    "dify": b'data: {"event":"workflow_finished","workflow_run_id":"w","data":{"status":"succeeded"}}\n\n',
    "easyflow": b'event: done\ndata: {"domain":"system","type":"done"}\n\n',
    "fastgpt": b"data: [DONE]\n\n",
    "flowise": b'message:\ndata:{"event":"end","data":"[DONE]"}\n\n',
    "gemini": b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
    "google-adk": b'data: {"invocationId":"i","author":"a","finishReason":"STOP"}\n\n',
    "langgraph-events": b'data: {"event":"on_chain_end","run_id":"r","parent_ids":[],"data":{}}\n\n',
    "langgraph-server": b"event: end\ndata: null\n\n",
    "langserve": b"event: end\n\n",
    "legacy": b'data: {"type":"done"}\n\n',
    "llama-workflows": b'data: {"type":"StopEvent","value":{},"types":["StopEvent"]}\n\n',
    "ollama": b'{"model":"m","message":{"content":""},"done":true,"done_reason":"stop"}\n',
    "openai-chat": b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    "openai-responses": (
        b'data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}\n\n'
    ),
    "ragflow": b'data: {"event":"workflow_finished","data":{"outputs":null}}\n\n',
    "standard": b'data: {"type":"session_end","data":{"status":"completed"},"metadata":{}}\n\n',
    "stream-envelope": b'data: {"type":"done","data":{}}\n\n',
    "vercel-data": b'd:{"finishReason":"stop"}\n',
    "vercel-ui": b'data: {"type":"finish"}\n\ndata: [DONE]\n\n',
}


def alien_to(dialect: str) -> bytes:
    if dialect in ("ollama", "vercel-data"):
        return b'{"zz_type": "zz_unheard_of"}\n' * 3 if dialect == "ollama" else b'z:{"zz": 1}\n' * 3
    return ALIEN


def codes_in(events: list[dict[str, object]]) -> list[object]:
    return [event["data"]["message_code"] for event in events if event["type"] == "warning"]  # type: ignore[index]


def test_list_of_empty_answers_has_every_dialect() -> None:
    assert sorted(ENDS) == sorted(process_dialects().readable)


@pytest.mark.parametrize("dialect", ENDS)
def test_alien_stream_with_the_end_of_its_dialect_has_a_warning(dialect: str) -> None:
    events = events_of(translate([alien_to(dialect) + ENDS[dialect]], speaks=dialect))
    assert events[-1]["data"]["status"] == "completed", events
    assert codes_in(events) == ["END_UNCONFIRMED"]


@pytest.mark.parametrize("dialect", ENDS)
def test_end_without_anything_before_it_is_never_a_silent_success(dialect: str) -> None:
    events = events_of(translate([ENDS[dialect]], speaks=dialect))
    assert events[-1]["data"]["status"] == "error" or codes_in(events) == ["END_UNCONFIRMED"]


@pytest.mark.parametrize("target", NO_WARNINGS)
@pytest.mark.parametrize("dialect", ENDS)
@pytest.mark.parametrize("framing", ["sse", "json"])
def test_protocol_without_warnings_gets_an_error(dialect: str, target: str, framing: str) -> None:
    body = alien_to(dialect) + ENDS[dialect]
    written = translate([body], speaks=dialect, answers=target, framing=framing, verbatim=False)
    assert b"could not be understood" in written
    assert b"[DONE]" not in written
    if framing == "json":
        assert "error" in json.loads(written)


@pytest.mark.parametrize("target", NO_WARNINGS)
def test_protocol_without_warnings_gets_the_empty_answer_of_known_events(target: str) -> None:
    written = translate([ENDS["legacy"]], speaks="legacy", answers=target, framing="sse")
    assert b"error" not in written.lower().replace(b'"error":null', b"")


@pytest.mark.parametrize("dialect", sorted({*process_dialects().writable} & {*ENDS} - {"standard"}))
def test_copied_frames_get_nothing_added(dialect: str) -> None:
    body = alien_to(dialect) + ENDS[dialect]
    framing = "ndjson" if dialect == "data-formulator" else "sse"
    if framing == "ndjson":
        body = body.replace(b"data: ", b"").replace(b"\n\n", b"\n")
    written = translate([body], speaks=dialect, answers=dialect, framing=framing)
    assert written == body


MAY_SAY_NOTHING = {"mode_custom", "agent-empty-answer", "agent-empty-run", "agent-whole-session-only"}
MAY_SAY_NOTHING |= {"chat-empty-answer"}


@for_each("stream", recorded_streams(), group=dialect_of)
def test_recorded_stream_with_content_has_no_warning(stream: Recorded) -> None:
    own = {stream.dialect: stream.options}
    events = events_of(translate([stream.body], speaks=stream.dialect, protocol_options=own))
    doubts = [
        event
        for event in events
        if event["type"] == "warning" and "without saying" in event["data"]["message"]
    ]
    assert not doubts or stream.path.stem in MAY_SAY_NOTHING


@pytest.mark.parametrize(
    "said",
    [
        {"type": "thinking", "data": {"content": "h"}},
        {"type": "tool_call_start", "data": {"tool_id": "t", "tool_name": "f", "arguments": {}}},
        {"type": "reference", "data": {"citations": [{"title": "t"}]}},
        {
            "type": "data",
            "data": {"data_type": "dataframe", "data": {"name": "n", "columns": [], "rows": []}},
        },
        {"type": "content", "data": {"content": "a", "channel": "report"}},
    ],
)
def test_part_of_an_answer_is_content(said: dict[str, object]) -> None:
    body = f"data: {json.dumps({**said, 'metadata': {}})}\n\n".encode() + ENDS["standard"]
    assert "END_UNCONFIRMED" not in codes_in(events_of(translate([body], speaks="standard")))


@pytest.mark.parametrize(
    "silent",
    [
        {"type": "content", "data": {"content": " \n"}},
        {"type": "status", "data": {"scope": "node", "state": "finished"}},
        {"type": "data", "data": {"data_type": "state", "data": {"a": 1}}},
        {"type": "data", "data": {"data_type": "custom", "data": {"name": "n", "value": 1}}},
        {"type": "zz_unheard_of", "data": {}},
    ],
)
def test_blanks_states_and_custom_data_are_no_content(silent: dict[str, object]) -> None:
    body = f"data: {json.dumps({**silent, 'metadata': {}})}\n\n".encode() + ENDS["standard"]
    assert "END_UNCONFIRMED" in codes_in(events_of(translate([body], speaks="standard")))
