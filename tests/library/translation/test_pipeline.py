"""A pipeline with several sinks: each gets every event."""

from typing import Any

import orjson
import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir import Translator, convert
from streamweir.codec.registry import process_dialects
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Event,
    SessionEnd,
    SessionStart,
    Stamp,
    ToolCallStart,
    wire_data,
)
from streamweir.testing import check_stream
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.sink import EventTap

TOKENS = [b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(9)]
FIXED: dict[str, Any] = {"request_id": "req_1", "session_id": "sess_1", "clock": lambda: 1_790_000_000_000}


class EventList(EventTap):
    """Keeps the events of a stream with their numbers."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = []
        self.is_finished = 0

    def write(self, event: Event, stamp: Stamp) -> None:
        self.events.append((stamp.sequence, event))

    def finish(self) -> None:
        self.is_finished += 1


class Failing(EventList):
    """Fails at the third event."""

    def write(self, event: Event, stamp: Stamp) -> None:
        super().write(event, stamp)
        if stamp.sequence == 2:
            raise LimitExceeded("enough")


@for_each("stream", recorded_streams()[::7], group=dialect_of)
def test_events_do_not_depend_on_the_sinks(stream: Recorded) -> None:
    options: Any = {
        "speaks": stream.dialect,
        "protocol_options": {stream.dialect: stream.options},
        "stream_tool_arguments": True,
    }
    standard = [
        (event["metadata"]["sequence"], event["type"], event["data"])
        for event in events_of(translate([stream.body], **options))
    ]
    for answers in process_dialects().writable:
        translator = Translator(answers=answers, **FIXED, **options)
        log = EventList()
        translator.add_sink(log)
        translator.feed(stream.body)
        translator.close()
        found = [(number, event.type, wire_data(event)) for number, event in log.events]
        assert found == standard, answers
        assert log.is_finished == 1


def test_sink_that_is_added_later_gets_the_same_events() -> None:
    first, second = EventList(), EventList()
    pipeline = Pipeline((first,), **FIXED)
    pipeline.push(Content("a"))
    pipeline.add_sink(second)
    pipeline.push(ToolCallStart(tool_id="t", tool_name="x"))
    pipeline.end()
    assert [number for number, _ in second.events] == [2, 3, 4, 5]
    for (_, event), (_, same) in zip(first.events[2:], second.events, strict=True):
        assert event is same


@pytest.mark.parametrize("place", [0, 1])
def test_sink_that_raises_ends_the_stream_for_all_sinks(place: int) -> None:
    log, failing = EventList(), Failing()
    pipeline = Pipeline((log, failing) if place else (failing, log), **FIXED)
    for number in range(9):
        pipeline.push(Content(f"word{number}"))
    assert [number for number, _ in log.events] == [*range(len(log.events))]
    assert [event.type for _, event in log.events] == [
        *("session_start", "content", "content"),
        *("content", "error", "session_end"),
    ]
    assert pipeline.error is not None
    assert pipeline.error.code == "STREAM_LIMIT_EXCEEDED"
    assert (log.is_finished, failing.is_finished) == (1, 1)


def test_second_sink_of_a_failing_stream_gets_a_valid_stream() -> None:
    translator = Translator(speaks="legacy", framing="ndjson", **FIXED)
    translator.add_sink(Failing())
    out = b"".join([*map(translator.feed, TOKENS), translator.close()])
    assert check_stream(out, framing="ndjson") == []
    assert events_of(out)[-1]["data"]["reason"] == "limit"


def test_push_behind_the_end_does_nothing() -> None:
    log = EventList()
    pipeline = Pipeline((log,), **FIXED)
    pipeline.take(iter((SessionStart(), Content("a"), SessionEnd(), Content("b"))))
    pipeline.push(Content("c"))
    pipeline.end()
    pipeline.cancel()
    assert [event.type for _, event in log.events] == ["session_start", "content", "content", "session_end"]
    assert (pipeline.ended, pipeline.reason, pipeline.error) == (True, "done", None)


def test_redaction_budget_is_counted_per_stream() -> None:
    """A stream redacts a bounded number of texts; texts of other streams are not counted."""
    for number in range(200):
        body = b'data: {"type": "error", "message": "no row %d"}\n\n' % number
        output = convert(body, speaks="legacy", framing="ndjson", debug=True)
        assert b"no row %d" % number in output


@pytest.mark.parametrize(
    ("speaks", "messages"),
    [
        (
            "standard",
            [
                {
                    "type": "thinking",
                    "data": {"content": ""},
                    "metadata": {"extra": {"status": "failed", "error": "Traceback: password=Tr0ub4dor-9"}},
                }
            ],
        ),
        ("legacy", [{"type": "thinking", "content": "", "level": "error", "detail": "password=Tr0ub4dor-9"}]),
        (
            "legacy",
            [
                {"type": "token", "content": "Hi"},
                {"type": "token", "content": "", "status": "failed", "message": "password=Tr0ub4dor-9"},
            ],
        ),
    ],
)
def test_fields_next_to_a_repeated_text_are_made_safe(speaks: str, messages: list[dict[str, Any]]) -> None:
    body = b"".join(b"data: %b\n\n" % orjson.dumps(message) for message in messages)
    beside = [event for event in events_of(translate([body], speaks=speaks)) if event["type"] == "data"]
    assert len(beside) == 1
    assert "Tr0ub4dor" not in str(beside)
    assert "[withheld]" in beside[0]["data"]["data"]["value"].values()
