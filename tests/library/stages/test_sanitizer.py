"""No text of a failure leaves unless it was written for users; answers are not touched."""

import time
from typing import Any

import msgspec
import pytest

from stage_harness import run
from streamweir.errors import CODES
from streamweir.events import (
    META_IDS,
    Content,
    Data,
    Error,
    Event,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    Warning,
    wire_data,
)
from streamweir.redaction import REDACTED
from streamweir.stages import ErrorSanitizer
from streamweir.testing.shapes import DATA, breaches_of

SECRET = "Traceback /srv/app/x.py password=hunter2 sk-abcdefghijklmnop1234"
TRACE = f"boom\n\tat com.acme.Job.run(Job.java:10)\nCaused by: {SECRET}"
META: Any = {"run_id": "r", "extra": {"raw": SECRET}, "source": {"dialect": "x", "raw": SECRET}}


def one(event: Event, *, debug: bool = False) -> Any:
    (out,) = run(ErrorSanitizer(debug=debug), [event])
    return out


def for_users(event: Event) -> Event:
    """`event`, its texts written for users, where it can say so."""
    return msgspec.structs.replace(event, for_users=True) if hasattr(event, "for_users") else event


def error(message: str = SECRET, **fields: Any) -> Error:
    values = {"error_type": "execution", "code": "UPSTREAM_ERROR", "recoverable": True, **fields}
    return Error(message=message, **values)


def failed_tool(message: str = SECRET, code: str = "TOOL_FAILED") -> ToolCallEnd:
    return ToolCallEnd(tool_id="t", status="failed", error={"code": code, "message": message}, meta=META)


def id_of(name: str) -> Any:
    return {name: SECRET}


FAILURES = [
    error(meta=META, details={"trace": SECRET}),
    error(code=SECRET, meta=META),
    error(code="AKIAIOSFODNN7EXAMPLE"),
    Warning(message=SECRET, message_code=SECRET, detail=SECRET, meta=META),
    failed_tool(),
    failed_tool(code=SECRET),
    Status(scope="node", state="failed", name=SECRET, detail={"error": SECRET}, meta=META),
    Data(data_type="custom", data={"name": "node_error", "value": {"message": SECRET}}, meta=META),
    Data(
        data_type="custom", data={"name": "node", "value": {"status": "failed", "why": [SECRET]}}, meta=META
    ),
    Data(data_type="custom", data={"name": "x_error", "value": {"why": {"password": "hunter2"}}}),
    Data(data_type="custom", data={"name": "x_error", "value": {SECRET: 1}}),
    Data(data_type="custom", data={"name": f"error {SECRET}", "value": 1}),
    Data(data_type="custom", data={"name": "warning", "value": {"message": SECRET}}),
    Data(data_type="custom", data={"name": "error", "message": SECRET}, metadata={"description": SECRET}),
    Data(data_type="custom", data=[{"errorMessage": SECRET}]),
    Data(data_type="custom", data={"name": "note", "value": {"exc_info": SECRET}}, meta=META),
    Data(data_type="custom", data={"name": "note", "value": {"level": "error", "note": SECRET}}),
    Data(data_type="custom", data={"name": "note", "value": [{"x": {"ok": False, "why": SECRET}}]}),
    Data(data_type="custom", data={"name": "note", "value": TRACE}),
    Status(scope="node", state="finished", name="n", detail={"stackTrace": SECRET}, meta=META),
    Status(scope="node", state="running", name="n", detail={"deep": [{"er": TRACE}]}, meta=META),
    Status(scope="model", state="finished", meta={"extra": {"success": False, "why": SECRET}}),
    Status(scope="node", state="finished", name="node_failed", detail=SECRET),
    *(Status(scope="node", state="failed", meta=id_of(name)) for name in META_IDS),
    *(error(meta=id_of(name)) for name in META_IDS),
]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("written_for_users", [False, True])
@pytest.mark.parametrize("event", FAILURES, ids=lambda event: event.type)
def test_failure_has_no_secret(event: Event, written_for_users: bool, debug: bool) -> None:
    out = one(for_users(event) if written_for_users else event, debug=debug)
    for secret in ("hunter2", "/srv/app", "sk-abc", "AKIA"):
        assert secret not in str(wire_data(out)) + str(out.meta)
    assert list(breaches_of(wire_data(out), DATA[out.type], "data")) == []


@pytest.mark.parametrize(
    "event",
    [
        Content(content=SECRET, meta=META),
        Thinking(content=SECRET),
        ToolCallStart(tool_id="t", tool_name="x", arguments={"a": SECRET}),
        ToolCallEnd(tool_id="t", result=SECRET),
        Data(data_type="custom", data={"name": "note", "value": SECRET}),
        Status(scope="node", state="finished", detail=SECRET),
        SessionEnd(),
    ],
)
def test_answers_are_not_touched(event: Event) -> None:
    assert one(event) is event


BESIDE: Any = {
    "run_id": "r",
    "extra": {"model": "a name", "stackTrace": SECRET, "x": {"ok": False, "why": SECRET}, "note": [TRACE]},
}


@pytest.mark.parametrize(
    "event",
    [
        SessionStart(meta=BESIDE),
        SessionEnd(meta=BESIDE),
        ToolCallStart(tool_id="t", tool_name="x", meta=BESIDE),
        ToolCallEnd(tool_id="t", result="rows", meta=BESIDE),
        Data(data_type="dataframe", data={"rows": []}, meta=BESIDE),
    ],
    ids=lambda event: event.type,
)
def test_report_of_a_failure_beside_other_data_is_withheld(event: Event) -> None:
    out = one(event)
    assert wire_data(out) == wire_data(event)
    assert out.meta == {
        "run_id": "r",
        "extra": {
            "model": "a name",
            "stackTrace": "[withheld]",
            "x": {"ok": False, "why": "[withheld]"},
            "note": ["[withheld]"],
        },
    }


@pytest.mark.parametrize("verdict", [{"status": "failed"}, {"ok": False}, {"error": True}, {"exit_code": 2}])
def test_report_with_a_verdict_keeps_the_verdict_only(verdict: dict[str, Any]) -> None:
    meta: Any = {"extra": {**verdict, "info": SECRET, "n": 5, "model": "a name"}}
    out = one(Content("a", meta=meta))
    assert out.meta == {"extra": {**verdict, "info": "[withheld]", "n": 5, "model": "[withheld]"}}


def test_marked_tool_output_is_kept() -> None:
    event = ToolCallEnd(tool_id="t", status="failed", result="exit code 1", error=None)
    assert wire_data(one(event)) == {
        "tool_id": "t",
        "status": "failed",
        "result": "exit code 1",
        "error": {"code": "TOOL_FAILED", "message": "The tool failed."},
    }


def test_failure_text_for_users_is_kept_and_any_other_replaced() -> None:
    assert one(error("No table is called sales.")).message.startswith("The service reported an error")
    assert one(error("For you.", for_users=True)).message == "For you."
    assert one(error("Not for you.", for_users=False)).message != "Not for you."
    assert one(error("  \n ", for_users=True)).message.startswith("The service reported an error")


def test_machine_code_of_an_upstream_is_kept() -> None:
    assert one(error(code="LLM_RATE_LIMIT")).code == "LLM_RATE_LIMIT"
    assert one(error(code="not_a_code")).code == "UPSTREAM_ERROR"


def test_code_of_a_tool_is_kept_on_tools_only() -> None:
    assert one(error(code="TOOL_FAILED")).code == "UPSTREAM_ERROR"
    assert one(failed_tool(code="TOOL_INCOMPLETE")).error["code"] == "TOOL_INCOMPLETE"


def test_debug_lets_redacted_details_out() -> None:
    event = error("Query failed on 10.1.2.3", details={"query": "select 1", "password": "hunter2"})
    details = one(event, debug=True).details
    assert details["upstream_message"].startswith("Query failed")
    assert "select 1" in str(details)
    assert "10.1.2.3" not in str(details)
    assert "hunter2" not in str(details)
    assert one(event).details is None


def test_long_message_is_cut() -> None:
    assert len(one(error("word " * 500, for_users=True)).message) <= 501


def test_ids_stay_on_failures() -> None:
    assert one(error(meta=META)).meta == {"run_id": "r"}
    assert one(failed_tool()).meta == {"run_id": "r"}


def test_ids_of_a_failed_step_are_kept() -> None:
    meta: Any = {
        "run_id": "0123456789abcdef0123456789abcdef",
        "parent_run_id": "fc0c9070-5695-405d-afaf-3561d6aabbcc",
        "message_id": "chatcmpl-AbCdEf1234567890AbCdEf12",
        "node_id": "Agent:DeepSeek-R1",
        "node_name": "查询节点",
        "duration_ms": 12,
    }
    assert one(Status(scope="node", state="failed", name="查询节点", meta=meta)).meta == meta


def test_report_of_a_failed_step_keeps_safe_fields_only() -> None:
    value = {
        "status": "failed",
        "code": "E_TIMEOUT",
        "attempt": 3,
        "retry": False,
        "node-id": "n1",
        "message": "boom",
        "error": {"type": "ValueError", "line": 5, "text": "it broke"},
        "ids": ["a1", "not an id"],
        "password": 5,
    }
    out = one(Data(data_type="custom", data={"name": "step", "value": value}))
    assert out.data == {
        "name": "step",
        "value": {
            "status": "failed",
            "code": "E_TIMEOUT",
            "attempt": 3,
            "retry": False,
            "node-id": "n1",
            "message": "[withheld]",
            "error": {"type": "ValueError", "line": 5, "text": "[withheld]"},
            "ids": ["a1", "[withheld]"],
            "password": REDACTED,
        },
    }


def test_thousands_of_fields_are_withheld_without_a_look_at_each() -> None:
    """Each would take its time; where one reports a failure, the texts of all are withheld."""
    fields = {f"field_{number}": f"{SECRET} {number}" for number in range(5000)}
    event = Content("Hi", meta={"extra": {"stackTrace": SECRET, **fields, "count": 5}})
    (out,) = run(ErrorSanitizer(debug=False), [event])
    assert out.meta is not None
    assert SECRET not in str(out.meta)
    assert out.meta["extra"].keys() >= {"stackTrace", "field_0"}


def messages_of(texts: list[str]) -> list[str]:
    """What becomes of these texts of one stream, all written for users."""
    events = [for_users(error(text, terminal=False)) for text in texts]
    return [out.message for out in run(ErrorSanitizer(debug=False), events) if isinstance(out, Error)]


def test_failure_text_after_a_hundred_is_the_fixed_message() -> None:
    texts = [f"No table is called sales_{number}." for number in range(300)]
    messages = messages_of(texts)
    assert messages[:100] == texts[:100]
    assert set(messages[100:]) == {CODES["UPSTREAM_ERROR"].message}


def test_repeated_failure_text_is_counted_once() -> None:
    texts = ["No table is called sales."] * 300
    assert messages_of(texts) == texts


def big_reports() -> list[Event]:
    texts = [f"id-{number}x" for number in range(100_000)]
    return [
        Data(data_type="custom", data={"name": "error", "value": texts}),
        Data(data_type="custom", data={"name": "error", "value": dict.fromkeys(texts, "x")}),
        Data(data_type="custom", data={"name": "note", "value": dict.fromkeys(texts, "x")}),
        Status(scope="node", state="failed", detail=texts),
        Status(scope="node", state="finished", detail=[{"a": 1}] * 200_000),
        SessionStart(meta={"extra": {f"error-{number}": "x" for number in range(100_000)}}),
        for_users(error("password=x " * 100_000, details=texts)),
        error("word " * 200_000, details={"x": ["word " * 1000] * 200}),
    ]


def test_start_like_a_harmless_one_with_an_exception_as_session_is_redacted() -> None:
    beside: Any = {"run_id": "r", "extra": {"bot_id": "b-1"}}
    stage = ErrorSanitizer(debug=False)
    starts = [SessionStart(session_id=name, meta=beside) for name in ("s-1", "s-2", "KeyError: 'x'")]
    first, second, third = run(stage, [*starts])
    assert [first, second] == starts[:2]
    assert "KeyError" not in str(wire_data(third))


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("event", big_reports(), ids=lambda event: event.type)
def test_megabyte_of_failure_is_redacted_in_time(event: Event, debug: bool) -> None:
    stage = ErrorSanitizer(debug=debug)
    start = time.thread_time()
    run(stage, [event])
    assert time.thread_time() - start < 2
