"""The parts of a message: where one begins, what joins it, when it is over.

`tests/vectors/messages.json` holds what many more streams give, for both languages.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import pytest

from bytecodes import bytecodes_of
from streamweir import MessageState, MessageStreamHandler
from streamweir.events import Content, Thinking, ToolCallEnd, ToolCallStart
from streamweir.translation.message_parts import PartList, TextPart, ToolPart


def event(kind: str, data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "data": data or {}, "metadata": metadata}


def text(piece: str, data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return event("content", {"content": piece, **(data or {})}, **metadata)


def call(tool_id: str, **metadata: Any) -> dict[str, Any]:
    return event("tool_call_start", {"tool_id": tool_id, "tool_name": "search", "arguments": {}}, **metadata)


def folded_in(*events: Any) -> MessageState:
    handler = MessageStreamHandler()
    for each in events:
        handler.handle_event(each)
    return handler.message


def texts_of(message: MessageState) -> list[str]:
    return [part.text if isinstance(part, TextPart) else part.type for part in message.parts]


def test_parts_keep_the_order_in_which_they_began() -> None:
    message = folded_in(text("Let me "), text("see."), call("t1"), text("It is "), text("tea."))
    assert texts_of(message) == ["Let me see.", "tool", "It is tea."]
    (tool,) = [part for part in message.parts if isinstance(part, ToolPart)]
    assert tool.call is message.tool_calls[0]


def test_parts_of_two_runs_grow_side_by_side() -> None:
    message = folded_in(*(text(piece, run_id=run) for piece, run in ("A1", "B2", "a1", "b2")))
    assert texts_of(message) == ["Aa", "Bb"]
    assert [part.run_id for part in message.parts] == ["1", "2"]


def test_part_is_frozen_and_a_later_list_has_a_new_one() -> None:
    handler = MessageStreamHandler()
    before = handler.handle_event(text("A")).parts
    after = handler.handle_event(text("B")).parts
    assert [texts_of_part(part) for part in (*before, *after)] == ["A", "AB"]
    with pytest.raises(AttributeError):
        before[0].run_id = "x"  # type: ignore[misc]  # it is frozen: that is the test
    assert handler.message.parts[0] is after[0]


def texts_of_part(part: Any) -> str:
    assert isinstance(part, TextPart)
    return part.text


def test_replacement_takes_the_place_of_the_first_part_and_the_others_leave() -> None:
    message = folded_in(text("A"), call("t1"), text("B"), text("C", {"op": "replace"}))
    assert texts_of(message) == ["C", "tool"]
    assert message.main_content == "C"


def test_end_time_is_set_when_no_piece_can_join_the_part() -> None:
    handler = MessageStreamHandler()
    handler.handle_event(text("A", timestamp=10))
    handler.handle_event(text("B", timestamp=20))
    assert [(part.start_time, part.end_time) for part in handler.message.parts] == [(10, None)]
    handler.handle_event(call("t1", timestamp=30))
    assert [(part.start_time, part.end_time) for part in handler.message.parts] == [(10, 20), (30, None)]


def test_times_are_the_upstream_s_where_it_gives_them() -> None:
    message = folded_in(
        call("t1", timestamp=100, upstream_time=50),
        event("tool_call_end", {"tool_id": "t1", "status": "success"}, timestamp=200, upstream_time=70),
    )
    (known,) = message.tool_calls
    assert (known.start_time, known.end_time) == (50, 70)


@pytest.mark.parametrize("status", ["completed", "error", "cancelled"])
def test_end_of_a_stream_closes_calls_that_still_run(status: str) -> None:
    end = event("session_end", {"status": status, "reason": "done"}, timestamp=9)
    message = folded_in(call("t1", timestamp=3), end)
    (known,) = message.tool_calls
    assert known.status == "failed"
    assert known.error == {"code": "TOOL_INCOMPLETE", "message": "The tool did not finish."}
    assert (known.start_time, known.end_time, message.parts[0].end_time) == (3, 9, 9)


def test_suspended_stream_leaves_calls_open() -> None:
    message = folded_in(
        call("t1"), event("session_end", {"status": "suspended", "reason": "interaction"}, timestamp=9)
    )
    assert message.tool_calls[0].status == "running"
    assert message.parts[0].end_time is None


def test_events_without_a_wire_make_parts_too() -> None:
    message = folded_in(
        ToolCallStart("t1", "search", meta={"node_name": "n", "upstream_time": 5}),
        ToolCallEnd("t1"),
        Content("A"),
    )
    assert [(part.type, part.node_name, part.start_time) for part in message.parts] == [
        ("tool", "n", 5),
        ("text", None, None),
    ]


def test_failure_has_its_kind_and_its_delay() -> None:
    failure = {"error_type": "execution", "code": "RATE_LIMITED", "message": "Wait.", "recoverable": True}
    message = folded_in(
        event("error", {**failure, "terminal": True, "retry_after_ms": 1500}),
        event("session_end", {"status": "error", "reason": "upstream_error"}),
    )
    assert (message.error_type, message.retry_after_ms) == ("execution", 1500)


def texts_of_many_messages() -> Iterator[Content]:
    return (Content("x", meta={"message_id": f"m{number}"}) for number in count())


def completed_texts() -> Iterator[Content]:
    return (Content("x", is_complete=True, meta={"message_id": "m"}) for _ in count())


def replaced_texts() -> Iterator[Content | Thinking]:
    while True:
        yield from (Content("x"), Thinking("t"), Content("y", op="replace"))


@pytest.mark.parametrize("events", [texts_of_many_messages, completed_texts, replaced_texts])
def test_parts_take_as_many_steps_per_event_for_many_as_for_few(
    events: Callable[[], Iterator[Content | Thinking]],
) -> None:
    def fold(number: int) -> None:
        parts = PartList()
        for event in islice(events(), number):
            parts.add_text(event, 1) if isinstance(event, Content) else parts.add_thinking(event, 1)

    assert bytecodes_of(lambda: fold(2400)) < 5 * bytecodes_of(lambda: fold(600))
