"""How a stream ends: evidence, soft evidence, EOF, a lost connection, a limit, a request to stop."""

import json
from typing import Any

import pytest

from streams import events_of
from streamweir import Decoder, Translator, convert
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import _registered
from streamweir.events import Content, Event, Interaction, SessionEnd, ToolCallStart
from streamweir.framing import Frame
from streamweir.testing import check_stream

STANDARD = '{"type":"%s","data":%s,"metadata":{}}\n'
TEXT = (STANDARD % ("content", '{"content":"Hi"}')).encode()
FORM = (STANDARD % ("interaction", '{"interaction_id":"f","kind":"form"}')).encode()
DONE = (STANDARD % ("session_end", '{"status":"completed"}')).encode()


class Plain(Decoder):
    """Ends where the body ends; `soft` is soft evidence, `call` opens a call, `ask` asks for something."""

    framing = "ndjson"

    def decode(self, frame: Frame) -> list[Event]:
        match frame.json():
            case "soft":
                self.complete = True
                return []
            case "call":
                return [ToolCallStart(tool_id="t", tool_name="x")]
            case "ask":
                return [Interaction(interaction_id="f", kind="form")]
            case "fault":
                raise TypeError("a fault of this decoder")
            case text:
                return [Content(content=str(text))]

    def close(self) -> list[Event]:
        return [SessionEnd(summary={"total_tokens": 3})]


class FaultyAtTheEnd(Plain):
    def close(self) -> list[Event]:
        raise TypeError("a fault of this decoder")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registered, "plain", Dialect("plain", Plain, None))
    monkeypatch.setitem(_registered, "faulty-at-the-end", Dialect("faulty-at-the-end", FaultyAtTheEnd, None))


def translator(speaks: str = "standard", **options: Any) -> Translator:
    return Translator(**{"speaks": speaks, "framing": "ndjson", "request_id": "req_1", **options})


def ended(engine: Translator, body: bytes = b"", failure: Any = None) -> tuple[str, str, str | None]:
    """The status, the reason and the error code that a stream ends with."""
    output = engine.feed(body)
    output += engine.close() if failure is None else engine.fail(failure)
    assert check_stream(output, framing=engine.framing) == []
    end = events_of(output)[-1]["data"]
    return end["status"], end["reason"], engine.error.code if engine.error else None


COMPLETED = ("completed", "done", None)
SUSPENDED = ("suspended", "interaction", None)
TRUNCATED = ("error", "truncated", "UPSTREAM_TRUNCATED")
INVALID = ("error", "malformed", "UPSTREAM_INVALID_RESPONSE")


def test_final_evidence_before_other_frames_ends_at_once() -> None:
    engine = translator()
    engine.feed(TEXT + DONE + TEXT)
    assert (engine.ended, engine.reason) == (True, "done")
    assert engine.fail("UPSTREAM_UNREACHABLE") == b""
    assert engine.error is None


def test_final_evidence_in_the_last_line_counts_without_its_end() -> None:
    assert ended(translator(), TEXT + DONE.strip()) == COMPLETED
    assert ended(translator(), TEXT + DONE.strip(), failure="UPSTREAM_UNREACHABLE") == COMPLETED


def test_without_evidence_it_is_truncated() -> None:
    assert ended(translator(), TEXT) == TRUNCATED
    assert ended(translator()) == TRUNCATED


@pytest.mark.parametrize("speaks", ["easyflow", "legacy", "stream-envelope", "ragflow"])
def test_mark_of_the_end_without_an_understood_event_proves_nothing(speaks: str) -> None:
    foreign = b'data: {"type":"response.delta","part":"Hi"}\n\ndata: [DONE]\n\n'
    assert ended(Translator(speaks=speaks, framing="ndjson"), foreign) == TRUNCATED


def test_foreign_object_is_no_answer_of_ragflow() -> None:
    for body in (b"{}", b'{"greeting": "hello"}', b'{"type": "x", "data": {"columns": []}}'):
        assert ended(Translator(speaks="ragflow", framing="ndjson"), body) == TRUNCATED


@pytest.mark.parametrize(
    "failure", ["UPSTREAM_UNREACHABLE", "UPSTREAM_TIMEOUT", TimeoutError(), ConnectionError()]
)
def test_soft_evidence_completes_when_the_connection_fails(failure: Any) -> None:
    assert ended(translator("plain"), b'"Hi"\n"soft"\n', failure) == COMPLETED


@pytest.mark.parametrize("code", ["INTERNAL", "GATEWAY_DRAINING", "STREAM_LIMIT_EXCEEDED"])
def test_soft_evidence_does_not_excuse_a_fault_of_ours(code: str) -> None:
    assert ended(translator("plain"), b'"Hi"\n"soft"\n', code)[2] == code


def test_soft_evidence_in_the_last_line_counts_when_the_connection_fails() -> None:
    assert ended(translator("plain"), b'"Hi"\n"soft"', "UPSTREAM_UNREACHABLE") == COMPLETED


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (b'"Hi"\n', COMPLETED),
        (b'"Hi"', COMPLETED),
        (b'"Hi"\n"th', TRUNCATED),
        (b'"Hi"\n"call"\n', TRUNCATED),
        (b'"Hi"\n"soft"\n"th', COMPLETED),
        (b"", TRUNCATED),
        (b"\n\n", TRUNCATED),
        (b": ping\n\n", TRUNCATED),
        (b'data: "Hi"\n\nevent: mess', TRUNCATED),
        (b'"call"\n"ask"\n', SUSPENDED),
        (b'"ask"\n', SUSPENDED),
        (b'"ask"\n"soft"\n', SUSPENDED),
        (b'"ask"\n"th', TRUNCATED),
    ],
)
def test_eof_that_ends_a_stream_needs_a_whole_body(body: bytes, end: object) -> None:
    assert ended(translator("plain"), body) == end


def test_eof_is_no_lost_connection() -> None:
    assert ended(translator("plain"), b'"Hi"\n', "UPSTREAM_TRUNCATED") == TRUNCATED


@pytest.mark.parametrize("failure", [None, "UPSTREAM_UNREACHABLE", "UPSTREAM_TIMEOUT"])
def test_stream_that_waits_for_a_person_is_suspended(failure: Any) -> None:
    assert ended(translator(), TEXT + FORM, failure) == SUSPENDED


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html>",
        b"Bad gateway",
        b"Bad gateway\n",
        b"data: Bad gateway\n\n",
        b"not json\nneither\n",
        b"\x00\x01\x02",
    ],
)
@pytest.mark.parametrize("speaks", ["standard", "plain", "auto"])
def test_body_of_no_dialect_is_an_invalid_response(body: bytes, speaks: str) -> None:
    assert ended(translator(speaks), body) == INVALID


@pytest.mark.parametrize("body", [b"", b"\n \n", b"\xef\xbb\xbf", b": ping\n\n: ping\n\n", b'{"type":"con'])
@pytest.mark.parametrize("speaks", ["standard", "auto"])
def test_body_that_breaks_off_before_its_first_event_is_truncated(body: bytes, speaks: str) -> None:
    end = ended(translator(speaks), body)
    assert end == TRUNCATED or (speaks == "auto" and body.startswith(b"{") and end == INVALID)


@pytest.mark.parametrize("speaks", ["standard", "auto"])
def test_pings_before_the_first_event_are_waited_through(speaks: str) -> None:
    engine = translator(speaks)
    for _ in range(1000):
        assert engine.feed(b": ping\n\n") == b""
    frames = b"".join(b"data: " + line + b"\n\n" for line in (TEXT.strip(), DONE.strip()))
    assert ended(engine, frames) == COMPLETED


def test_head_that_detection_holds_back_is_read_when_the_connection_fails() -> None:
    engine = translator("auto")
    assert engine.feed(TEXT.strip()) == b""
    output = engine.fail("UPSTREAM_UNREACHABLE")
    assert [event["type"] for event in events_of(output)][:2] == ["session_start", "content"]
    assert engine.error is not None
    assert engine.error.code == "UPSTREAM_UNREACHABLE"


def test_failure_before_any_event_keeps_its_code() -> None:
    for speaks in ("standard", "auto"):
        assert ended(translator(speaks), b"no such", "UPSTREAM_TIMEOUT")[2] == "UPSTREAM_TIMEOUT"


def test_fault_of_ours_ends_the_stream_properly(caplog: pytest.LogCaptureFixture) -> None:
    assert ended(translator("faulty-at-the-end"), b'"Hi"\n') == ("error", "internal", "INTERNAL")
    assert "a fault of this decoder" in caplog.text
    assert caplog.records[0].request_id == "req_1"  # type: ignore[attr-defined]


@pytest.mark.parametrize("framing", ["sse", "ndjson", "json"])
def test_stream_over_its_size_ends_with_a_limit(framing: str) -> None:
    body = TEXT * 10
    engine = Translator(speaks="standard", framing=framing, limits={"stream_bytes": len(body) - 1})
    output = engine.feed(body)
    assert (engine.reason, engine.error and engine.error.code) == ("limit", "STREAM_LIMIT_EXCEEDED")
    assert check_stream(output, framing=framing) == []
    exact = translator(limits={"stream_bytes": len(body) + len(DONE)})
    assert ended(exact, body + DONE) == COMPLETED


def test_event_over_its_size_ends_with_a_limit() -> None:
    engine = translator(limits={"event_bytes": "1KiB"})
    engine.feed(TEXT)
    for _ in range(2000):
        engine.feed(b"x")
    assert engine.reason == "limit"


def test_too_many_malformed_events_end_the_stream() -> None:
    output = convert(TEXT + b"x\n" * 101 + DONE, speaks="standard", framing="ndjson")
    *_, content, warning, error, end = events_of(output)
    assert (error["data"]["code"], end["data"]["reason"]) == ("STREAM_LIMIT_EXCEEDED", "malformed")
    assert warning["data"]["message_code"] == "UPSTREAM_MALFORMED_EVENT"
    assert content["data"] == {"content": "", "is_complete": True}
    assert convert(TEXT + b"x\n" * 100 + DONE, speaks="standard").count(b'"completed"') == 1


def test_malformed_events_get_warnings_and_are_then_counted() -> None:
    output = convert(TEXT + b"x\n" * 30 + DONE, speaks="standard", framing="ndjson")
    warnings = [event["data"]["message"] for event in events_of(output) if event["type"] == "warning"]
    assert len(warnings) == 11
    assert warnings[-1].startswith("20 more")


def test_text_that_is_not_unicode_gets_one_warning() -> None:
    bad = TEXT.replace(b"Hi", b"\xff")
    output = convert(bad + bad + DONE, speaks="standard", framing="ndjson")
    codes = [event["data"].get("message_code") for event in events_of(output)]
    assert codes.count("UPSTREAM_INVALID_TEXT") == 1


def test_cancelling_closes_open_parts_without_an_error() -> None:
    engine = translator("plain")
    output = engine.feed(b'"Hi"\n"call"\n') + engine.cancel("client_gone")
    assert check_stream(output, framing="ndjson") == []
    assert events_of(output)[-1]["data"]["reason"] == engine.reason == "client_gone"
    assert engine.error is None


def test_fail_with_a_code_uses_it_if_it_is_known() -> None:
    assert ended(translator(), TEXT, "CANCELLED") == ("cancelled", "cancelled", None)
    assert ended(translator(), TEXT, "NO_SUCH_CODE") == ("error", "internal", "INTERNAL")


def test_warnings_of_the_caller_go_out_as_they_are() -> None:
    engine = translator(warnings=["At /first", {"message": "Second", "message_code": "TWO"}])
    engine.warn("Third", "THREE", {"secret": 1})
    events = events_of(engine.feed(TEXT))
    assert [event["data"] for event in events[1:4]] == [
        {"message": "At /first"},
        {"message": "Second", "message_code": "TWO"},
        {"message": "Third", "message_code": "THREE"},
    ]


def test_heartbeat_has_no_event_and_stops_with_the_stream() -> None:
    engine = translator(framing="sse")
    assert engine.heartbeat() == b": ping\n"
    assert translator().heartbeat() == b"\n"
    assert translator(framing="json").heartbeat() == b""
    engine.feed(DONE)
    assert engine.heartbeat() == b""


def test_raw_output_adds_the_source_but_never_to_a_failure() -> None:
    failed = STANDARD % (
        "tool_call_end",
        '{"tool_id":"t","status":"failed","error":{"code":"X","message":"y"}}',
    )
    output = convert(TEXT + failed.encode() + b"x\n" + DONE, speaks="standard", framing="ndjson", raw=True)
    assert check_stream(output, framing="ndjson") == []
    sources = [event for event in events_of(output) if "source" in event["metadata"]]
    assert [event["type"] for event in sources] == ["content"]  # an end may repeat what failed
    assert sources[0]["metadata"]["source"] == {
        "dialect": "standard",
        "event": "content",
        "raw": json.loads(TEXT),
    }


def test_endpoint_for_1_0_clients_sends_no_replacement() -> None:
    replace = (STANDARD % ("content", '{"content":"%s","op":"replace"}')).encode()
    body = TEXT + replace % b"Hi there" + replace % b"No" + DONE
    options = {"speaks": "standard", "framing": "ndjson"}
    new = convert(body, **options)
    old = convert(body, **options, protocol_options={"standard": {"version": "1.0"}})
    assert b'"op":"replace"' in new
    assert b'"op"' not in old
    assert [event["data"].get("message_code") for event in events_of(old)][-3:-1] == [
        None,
        "LOSSY_CONVERSION",
    ]
    assert check_stream(old, framing="ndjson") == []


def test_decoder_that_raises_on_an_event_loses_that_event_only(caplog: pytest.LogCaptureFixture) -> None:
    output = convert(b'"a"\n"fault"\n"b"\n"fault"\n"c"\n', speaks="plain", framing="ndjson")
    events = events_of(output)
    assert [event["data"]["content"] for event in events if event["type"] == "content"] == ["a", "b", "c", ""]
    codes = [event["data"]["message_code"] for event in events if event["type"] == "warning"]
    assert codes == ["UPSTREAM_MALFORMED_EVENT"] * 2
    assert events[-1]["data"]["status"] == "completed"
    assert caplog.text.count("Traceback") == 1
    assert "a fault of this decoder" not in output.decode()


def error_and_end(code: str, **end: Any) -> bytes:
    failure = {"error_type": "system", "code": code, "message": "m", "recoverable": True, "terminal": True}
    messages = [("error", failure), ("session_end", {"status": "error", **end})]
    return b"".join((STANDARD % (kind, json.dumps(data))).encode() for kind, data in messages)


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        ("UPSTREAM_TIMEOUT", "idle_timeout", "idle_timeout"),
        ("UPSTREAM_TIMEOUT", "truncated", "upstream_error"),
        ("UPSTREAM_TRUNCATED", "truncated", "truncated"),
        ("UPSTREAM_ERROR", None, "upstream_error"),
        ("UPSTREAM_ERROR", "done", "upstream_error"),
        ("UPSTREAM_ERROR", "client_gone", "upstream_error"),
        ("STREAM_LIMIT_EXCEEDED", "malformed", "malformed"),
        ("STORE_UNAVAILABLE", "lost", "lost"),
    ],
)
def test_fields_of_an_end_behind_an_error_are_kept(code: str, said: Any, reason: str) -> None:
    body = error_and_end(code, reason=said, summary={"total_tokens": 90})
    options: dict[str, Any] = {"framing": "ndjson", "request_id": "req_1", "session_id": "s", "clock": int}
    whole = convert(body, speaks="standard", **options)
    end = events_of(whole)[-1]["data"]
    assert (end["reason"], end["summary"]["total_tokens"]) == (reason, 90)
    pieces = [body[i : i + 1] for i in range(len(body))]
    assert (
        convert(pieces, speaks="standard", framing="ndjson", request_id="req_1", session_id="s", clock=int)
        == whole
    )


def test_error_leaves_at_once_and_the_end_when_it_comes() -> None:
    engine = translator()
    error, end = error_and_end("UPSTREAM_TIMEOUT", reason="idle_timeout").splitlines(keepends=True)
    assert [event["type"] for event in events_of(engine.feed(error))] == ["session_start", "error"]
    assert not engine.ended
    assert engine.complete
    assert engine.feed(TEXT) == b""
    assert [event["type"] for event in events_of(engine.feed(end))] == ["session_end"]
    assert engine.ended


@pytest.mark.parametrize("status", ["error", "completed"])
def test_error_that_is_repeated_is_no_end(status: str) -> None:
    said = {"status": status, "reason": "idle_timeout", "summary": {"total_tokens": 90}}
    error, end = error_and_end("UPSTREAM_TIMEOUT", **said).splitlines(keepends=True)
    events = events_of(convert(error + error + end, speaks="standard", framing="ndjson"))
    assert [event["type"] for event in events] == ["session_start", "error", "session_end"]
    data = events[-1]["data"]
    assert (data["status"], data["reason"], data["summary"]["total_tokens"]) == ("error", "idle_timeout", 90)


@pytest.mark.parametrize("failure", [None, "UPSTREAM_TRUNCATED", "GATEWAY_DRAINING"])
def test_error_without_an_end_behind_it_is_the_end(failure: Any) -> None:
    error = error_and_end("UPSTREAM_REJECTED").splitlines(keepends=True)[0]
    assert ended(translator(), error, failure) == ("error", "upstream_error", "UPSTREAM_REJECTED")


def test_dialect_that_understood_nothing_does_not_call_it_a_success() -> None:
    body = b'data: {"type": "text_delta", "content": "Hi"}\n\ndata: {"type": "done"}\n\n'
    events = events_of(convert(body, speaks="easyflow", framing="ndjson"))
    assert [event["data"]["message_code"] for event in events if event["type"] == "warning"] == [
        "END_UNCONFIRMED"
    ]
    understood = (
        b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "x"}\n\ndata: {"type": "done"}\n\n'
    )
    engine = translator("legacy")
    assert b"END_UNCONFIRMED" not in engine.feed(understood) + engine.close()
    assert engine.counts["unknown"] == 1


ENDS_THAT_SAY_HOW_IT_WENT = {
    "a2a": '{"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}',
    "coze": '{"event":"conversation.chat.completed","id":"c","status":"completed"}',
    "dify": '{"event":"workflow_finished","data":{"status":"succeeded"}}',
    "gemini": '{"candidates":[{"finishReason":"STOP"}]}',
    "openai-chat": '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
}


@pytest.mark.parametrize("speaks", ENDS_THAT_SAY_HOW_IT_WENT)
def test_facts_in_an_end_are_no_answer(speaks: str) -> None:
    end = json.loads(ENDS_THAT_SAY_HOW_IT_WENT[speaks])
    name = f"event: {end.pop('event')}\n" if speaks == "coze" else ""
    body = f'data: {{"zz_unheard_of": 1}}\n\n{name}data: {json.dumps(end)}\n\n'.encode()
    events = events_of(convert(body, speaks=speaks, framing="ndjson"))
    assert events[-1]["data"]["status"] == "completed"
    codes = [event["data"].get("message_code") for event in events if event["type"] == "warning"]
    assert codes == ["END_UNCONFIRMED"]


def test_question_about_a_call_does_not_separate_messages() -> None:
    parts = [{"functionCall": {"name": "w", "args": {"c": city}}} for city in "AB"]
    results = [{"functionResponse": {"name": "w", "response": f"for {city}"}} for city in "AB"]
    body = "".join(
        f"data: {json.dumps({'candidates': [{'content': {'parts': said}}]})}\n\n" for said in (parts, results)
    )
    folded = json.loads(convert(body, speaks="gemini", framing="json", eof="complete"))
    calls = folded["message"]["tool_calls"]
    assert [(call["arguments"]["c"], call["result"]) for call in calls] == [("A", "for A"), ("B", "for B")]


def test_answer_in_the_end_itself_is_understood() -> None:
    body = (
        b'data: {"zz_unheard_of": 1}\n\n'
        b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\n\n'
    )
    assert b"END_UNCONFIRMED" not in convert(body, speaks="gemini")


def test_calls_in_a_row_end_in_the_order_of_their_start() -> None:
    def call(argument: str) -> str:
        return json.dumps({"type": "tool_call", "tool_name": "w", "tool_args": {"c": argument}})

    def result(value: str) -> str:
        return json.dumps({"type": "tool_result", "tool_name": "w", "result": value})

    def results_by_argument(*messages: str) -> dict[str, Any]:
        body = "".join(f"data: {message}\n\n" for message in (*messages, '{"type": "done"}'))
        folded = json.loads(convert(body, speaks="legacy", framing="json"))
        return {call["arguments"]["c"]: call["result"] for call in folded["message"]["tool_calls"]}

    token = '{"type": "token", "content": "x"}'
    in_a_row = results_by_argument(call("A"), call("B"), result("for A"), result("for B"))
    assert in_a_row == {"A": "for A", "B": "for B"}
    nameless = json.dumps({"type": "tool_result", "result": "for A"})
    assert results_by_argument(call("A"), call("B"), nameless, result("for B")) == in_a_row
    nested = results_by_argument(call("A"), token, call("B"), result("for B"), result("for A"))
    assert nested == {"A": "for A", "B": "for B"}


def test_message_with_text_after_its_end_is_another_one() -> None:
    pieces = [
        {"content": "One.", "is_complete": True},
        {"content": "Two."},
        {"content": "", "is_complete": True},
    ]
    body = b"".join(
        json.dumps({"type": "content", "data": data, "metadata": {"message_id": "m"}}).encode() + b"\n"
        for data in [*pieces, {"content": "Three."}, {"content": "Four."}]
    )
    engine = translator()
    output = engine.feed(body + DONE)
    assert check_stream(output, framing="ndjson") == []
    said = [event for event in events_of(output) if event["type"] == "content"]
    texts = [(event["metadata"]["message_id"], event["data"]["content"]) for event in said]
    assert texts == [
        ("m", "One."),
        ("m_2", "Two."),
        ("m_2", ""),
        ("m_3", "Three."),
        ("m_3", "Four."),
        ("m_3", ""),
    ]


def test_nodes_of_a_ragflow_run_share_one_message() -> None:
    frames = [("message", "One."), ("message_end", None), ("message", "Two."), ("workflow_finished", None)]
    messages = [{"event": name, "message_id": "m", "data": {"content": text}} for name, text in frames]
    body = "".join(f"data:{json.dumps(message)}\n\n" for message in messages)
    output = convert(body, speaks="ragflow", framing="ndjson")
    assert check_stream(output, framing="ndjson") == []
    assert [event["data"].get("is_complete") for event in events_of(output)[1:-1]] == [None, None, True]


BROKEN_OFF = {
    "a step of a workflow whose name is lost": (
        "dify",
        b'data: {"workflow_run_id": "r", "data": {"id": "n1", "node_id": "llm", "node_type": "llm"}}\n\n',
    ),
    "a state without a name in the middle of a run": (
        "langgraph-server",
        b'event: metadata\ndata: {"run_id": "r", "attempt": 1}\n\n'
        b'data: {"messages": [{"type": "human", "content": "Hi", "id": "m"}]}\n\n',
    ),
    "a node's update": (
        "langgraph-server",
        b'event: metadata\ndata: {"run_id": "r", "attempt": 1}\n\n'
        b'event: updates\ndata: {"agent": {"messages": [{"type": "ai", "content": "So.", "id": "m"}]}}\n\n',
    ),
    "a whole event that names no reason": (
        "google-adk",
        b'data: {"invocationId": "e", "author": "shop", "id": "m", "content":'
        b' {"role": "model", "parts": [{"text": "I look."}]}}\n\n',
    ),
}


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_lost_connection_completes_nothing_that_did_not_end(name: str) -> None:
    speaks, body = BROKEN_OFF[name]
    engine = Translator(speaks=speaks, framing="ndjson")
    output = engine.feed(body) + engine.fail(ConnectionResetError())
    assert check_stream(output, framing="ndjson") == []
    assert events_of(output)[-1]["data"]["status"] == "error"
