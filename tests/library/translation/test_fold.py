"""The folded result: one JSON object instead of a stream."""

import json
from typing import Any

import pytest

from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    Thinking,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)
from streamweir.jsontext import write_json
from streamweir.translation import fold as fold_module
from streamweir.translation.fold import Fold
from streamweir.translation.translator import Translator


def folded(*events: Event) -> dict[str, Any]:
    fold = Fold("req_1")
    for event in events:
        fold.add(event)
    return fold.result()


def text(content: str, message_id: str | None = None, **fields: Any) -> Content:
    meta: Meta | None = {"message_id": message_id} if message_id else None
    return Content(content=content, meta=meta, **fields)


def test_fold_has_the_shape_of_the_protocol() -> None:
    assert folded(
        Thinking(content="Hm"),
        ToolCallStart(tool_id="t", tool_name="x", arguments={"a": 1}),
        ToolCallEnd(tool_id="t", result=[1], meta={"duration_ms": 5}),
        ToolCallStart(tool_id="u", tool_name="y"),
        text("Hi"),
        Data(data_type="custom", data={"name": "n", "value": 1}),
        Reference(citations=[{"id": "1"}]),
        Interaction(interaction_id="u", kind="tool"),
        Warning(message="w"),
        SessionEnd(status="suspended", reason="interaction", summary={"events": 10}),
    ) == {
        "request_id": "req_1",
        "status": "suspended",
        "reason": "interaction",
        "message": {
            "content": "Hi",
            "thinking": "Hm",
            "tool_calls": [
                {
                    "tool_id": "t",
                    "tool_name": "x",
                    "arguments": {"a": 1},
                    "status": "success",
                    "result": [1],
                    "duration_ms": 5,
                },
                {"tool_id": "u", "tool_name": "y", "arguments": {}, "status": "running"},
            ],
            "data": [{"data_type": "custom", "data": {"name": "n", "value": 1}}],
            "references": [{"citations": [{"id": "1"}]}],
            "interactions": [{"interaction_id": "u", "kind": "tool", "state": "requested"}],
        },
        "warnings": [{"message": "w"}],
        "error": None,
        "summary": {"events": 10},
    }


@pytest.mark.parametrize(
    ("pieces", "content"),
    [
        ([text("a"), text("b")], "ab"),
        ([text("a", "1"), text("b", "2"), text("c", "1")], "ac\n\nb"),
        (
            [text("a", is_complete=True), text("b"), text("c", is_complete=True), text("", is_complete=True)],
            "a\n\nbc",
        ),
        ([text("41", "1"), text("b", "2"), text("42", "1", op="replace")], "42\n\nb"),
        ([text("41", is_complete=True), text("42", op="replace", is_complete=True)], "42"),
        ([text("a", is_complete=True), text("41"), text("42", op="replace")], "a\n\n42"),
        ([text("", is_complete=True), text("a")], "a"),
        ([text("a", "1"), text("", "1", op="replace"), text("b", "2")], "b"),
    ],
)
def test_fold_joins_pieces_and_separates_messages(pieces: list[Event], content: str) -> None:
    assert folded(*pieces)["message"]["content"] == content


def test_fold_keeps_channels_separate_from_the_answer() -> None:
    message = folded(text("r", channel="report"), text("a"), text("s", channel="report"))["message"]
    assert (message["content"], message["channels"]) == ("a", {"report": "rs"})
    assert "channels" not in folded(text("a"))["message"]


def test_fold_takes_only_a_terminal_error_as_its_error() -> None:
    error = Error(error_type="system", code="INTERNAL", message="m", recoverable=True, terminal=False)
    assert folded(error)["error"] is None
    assert folded(Error(error_type="system", code="INTERNAL", message="m", recoverable=True))["error"] == {
        "error_type": "system",
        "code": "INTERNAL",
        "message": "m",
        "recoverable": True,
        "terminal": True,
    }


@pytest.mark.parametrize(
    "event", [text("x" * 400), Data(data_type="custom", data={"name": "n", "value": "x" * 400})]
)
def test_fold_over_its_limit_can_still_end(event: Event) -> None:
    fold = Fold("req_1", limit=900)
    fold.add(ToolCallStart(tool_id="t", tool_name="x"))
    fold.add(event)
    with pytest.raises(LimitExceeded):
        fold.add(event)
    for closing in (ToolCallEnd(tool_id="t"), text("", is_complete=True), Warning(message="w"), SessionEnd()):
        fold.add(closing)
    assert fold.result()["status"] == "completed"


def test_fold_with_only_a_failure_has_no_answer() -> None:
    engine = Translator(speaks="legacy", framing="json", request_id="req_1", clock=lambda: 1)
    result = json.loads(engine.fail("RATE_LIMITED"))
    assert not engine.has_answer
    assert (result["status"], result["error"]["code"], result["message"]["content"]) == (
        "error",
        "RATE_LIMITED",
        "",
    )
    assert engine.media_type == "application/json"
    engine = Translator(speaks="legacy", framing="json")
    engine.feed(b'data: {"type":"token","content":"Hi"}\n\n')
    assert engine.has_answer


def test_progress_of_a_call_with_large_arguments_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = Fold("req_1", limit=1 << 20)
    fold.add(ToolCallStart(tool_id="t", tool_name="look", arguments={"a": "x" * 100_000}))
    size, measured = fold.size, 0

    def counted(value: Any) -> bytes:
        nonlocal measured
        measured += len(written := write_json(value))
        return written

    monkeypatch.setattr(fold_module, "write_json", counted)
    for _ in range(100):
        fold.add(ToolCallProgress(tool_id="t", progress=0.5))
    assert (measured, fold.size) == (0, size)
