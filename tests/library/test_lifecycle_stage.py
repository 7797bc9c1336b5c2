"""One start, one end, an error before every failed end, warnings where they belong."""

from typing import Any

import pytest

from stage_harness import run
from streamweir.events import (
    Content,
    Error,
    Event,
    Interaction,
    SessionEnd,
    SessionStart,
    Status,
    ToolCallEnd,
    ToolCallStart,
    Warning,
)
from streamweir.stages import Lifecycle, StreamPosition
from streamweir.stages.lifecycle import MAX_WARNINGS

TEXT = Content(content="x")


def lifecycle(*, written: int = 0, **options: Any) -> Lifecycle:
    position = StreamPosition(1000, 1000, written)
    return Lifecycle(request_id="req_1", session_id="s", position=position, **options)


def failure(code: str = "INTERNAL", **fields: Any) -> Error:
    return Error(**{"error_type": "system", "code": code, "message": "m", "recoverable": True, **fields})


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]


def last(events: list[Event]) -> SessionEnd:
    assert isinstance(events[-1], SessionEnd)
    return events[-1]


def test_missing_start_is_added_and_a_second_one_dropped() -> None:
    out = run(lifecycle(), [TEXT, SessionStart(session_id="late"), SessionStart()])
    assert out == [SessionStart(session_id="s", request_id="req_1"), TEXT]


def test_made_up_start_has_the_session_of_the_upstream() -> None:
    given = SessionStart(session_id="up", meta={"thread_id": "t", "node_id": "n", "extra": {"a": 1}})
    assert run(lifecycle(), [given]) == [SessionStart(session_id="up", request_id="req_1", meta=given.meta)]
    first = Content(content="x", meta={"session_id": "up", "thread_id": "t", "node_id": "n"})
    assert run(lifecycle(), [first])[0].meta == {"session_id": "up", "thread_id": "t"}


def test_events_behind_the_end_are_dropped() -> None:
    stage = lifecycle()
    assert types(run(stage, [SessionEnd(), TEXT, failure(), SessionEnd()])) == [
        "session_start",
        "session_end",
    ]
    assert stage.ended
    assert stage.reason == "done"


def test_session_end_has_the_counts_of_the_stream() -> None:
    summary = {"total_tokens": 7.0, "tool_calls": 99, "events": 99, "finish_reason": "stop", "cost": 3}
    call = ToolCallStart(tool_id="t", tool_name="x")
    end = last(run(lifecycle(written=3), [call, TEXT, SessionEnd(summary=summary)]))
    assert end.summary == {
        "duration_ms": 0,
        "total_tokens": 7,
        "finish_reason": "stop",
        "tool_calls": 1,
        "events": 4,
    }
    assert end.meta == {"extra": {"summary": {"cost": 3}}}


@pytest.mark.parametrize("value", [True, "7", -1, [], 2**70, float("inf")])
def test_summary_of_the_upstream_keeps_numbers_only(value: object) -> None:
    end = last(run(lifecycle(), [SessionEnd(summary={"total_tokens": value})]))
    assert "total_tokens" not in (end.summary or {})


def test_terminal_error_ends_the_stream() -> None:
    stage = lifecycle()
    out = run(stage, [TEXT, failure(meta={"run_id": "r", "extra": {"a": 1}, "duration_ms": 3})])
    assert types(out) == ["session_start", "content", "error", "session_end"]
    assert (last(out).status, last(out).reason) == ("error", "internal")
    assert [event.meta for event in out[2:]] == [{"run_id": "r"}] * 2
    assert stage.error is not None
    assert stage.error.code == "INTERNAL"


def test_failed_end_without_an_error_gets_the_one_that_was_reported() -> None:
    reported = failure("RATE_LIMITED", terminal=False)
    *_, error, end = run(lifecycle(), [reported, SessionEnd(status="error")])
    assert isinstance(error, Error)
    assert (error.code, error.terminal, end.type) == ("RATE_LIMITED", True, "session_end")


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (None, "UPSTREAM_ERROR"),
        ("truncated", "UPSTREAM_TRUNCATED"),
        ("idle_timeout", "UPSTREAM_TIMEOUT"),
        ("done", "UPSTREAM_ERROR"),
    ],
)
def test_failed_end_without_any_error_gets_one_by_its_reason(reason: Any, code: str) -> None:
    *_, error, end = run(lifecycle(), [SessionEnd(status="error", reason=reason)])
    assert isinstance(error, Error)
    assert isinstance(end, SessionEnd)
    assert error.code == code
    assert end.reason == (reason if code != "UPSTREAM_ERROR" else "upstream_error")


@pytest.mark.parametrize(
    ("status", "given", "reason"),
    [
        ("completed", "limit", "done"),
        ("suspended", "done", "interaction"),
        ("cancelled", "client_gone", "client_gone"),
        ("cancelled", "done", "cancelled"),
    ],
)
def test_reason_of_the_end_fits_the_status(status: Any, given: Any, reason: str) -> None:
    assert last(run(lifecycle(), [SessionEnd(status=status, reason=given)])).reason == reason


def test_cancelled_run_is_no_error() -> None:
    out = run(lifecycle(), [failure("CANCELLED")])
    assert types(out) == ["session_start", "session_end"]
    assert last(out).status == "cancelled"


def test_length_limit_completes_with_one_warning() -> None:
    end = SessionEnd(summary={"finish_reason": "length"})
    warning = run(lifecycle(), [TEXT, end])[2]
    assert isinstance(warning, Warning)
    assert warning.message_code == "LENGTH_LIMIT"
    assert types(run(lifecycle(), [TEXT, warning, end])).count("warning") == 1


@pytest.mark.parametrize(("events", "kind"), [([TEXT], "warning"), ([], "error")])
def test_content_filter_without_text_is_an_error(events: list[Event], kind: str) -> None:
    out = run(lifecycle(), [*events, SessionEnd(summary={"finish_reason": "content_filter"})])
    assert types(out)[-2] == kind


def test_warnings_go_before_the_next_event_and_before_the_terminal_error() -> None:
    stage = lifecycle(warnings=[Warning(message="0")])
    stage.closing_warnings.append(lambda: [Warning(message="4")])
    out = run(stage, [TEXT])
    stage.warn(Warning(message="1"))
    out += run(stage, [failure(terminal=False)])
    stage.warn(Warning(message="2"))
    stage.warn(Warning(message="3"))
    out += run(stage, [failure()])
    assert [getattr(event, "message", event.type) for event in out] == [
        "session_start",
        "0",
        "content",
        "1",
        "m",
        "2",
        "3",
        "4",
        "m",
        "session_end",
    ]


def test_warnings_over_the_limit_are_counted_at_the_end() -> None:
    stage = lifecycle()
    out = []
    for number in range(MAX_WARNINGS + 7):
        stage.warn(Warning(message=str(number)))
        out += run(stage, [TEXT])
    out += run(stage, [SessionEnd()])
    warnings = [event.message for event in out if isinstance(event, Warning)]
    assert warnings == [*map(str, range(MAX_WARNINGS)), "7 more warnings were left out."]


@pytest.mark.parametrize(
    "answer",
    [
        Interaction(interaction_id="a", kind="form", state="resolved"),
        Interaction(interaction_id="a", kind="form", state="cancelled"),
        Status(scope="session", state="resumed"),
        ToolCallEnd(tool_id="a"),
    ],
)
def test_waits_for_answer_is_set_until_the_answer_comes(answer: Event) -> None:
    stage = lifecycle()
    run(stage, [Interaction(interaction_id="a", kind="form")])
    assert stage.waits_for_answer
    run(stage, [answer])
    assert not stage.waits_for_answer
