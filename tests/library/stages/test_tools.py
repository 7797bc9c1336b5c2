"""Tool calls are paired, repaired, kept apart and closed."""

import time

import pytest

from stage_harness import kept_after, run, shown
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Error,
    Event,
    Interaction,
    SessionEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)
from streamweir.ids import is_made_call_id, made_call_id
from streamweir.stages.position import StreamPosition
from streamweir.stages.tools import Tools

ROOM = 8 << 20
FIRST, SECOND, THIRD = (made_call_id("", count) for count in (1, 2, 3))


def start(tool_id: str, name: str = "search", **arguments: object) -> ToolCallStart:
    return ToolCallStart(tool_id=tool_id, tool_name=name, arguments=arguments)


def end(tool_id: str = "", name: str | None = None, result: object = None) -> ToolCallEnd:
    return ToolCallEnd(tool_id=tool_id, tool_name=name, result=result)


def failure() -> Error:
    return Error(error_type="system", code="INTERNAL", message="", recoverable=True)


def ids(events: list[Event]) -> list[tuple[str, str]]:
    return [
        (event.type, event.tool_id)
        for event in events
        if isinstance(event, ToolCallStart | ToolCallDelta | ToolCallProgress | ToolCallEnd)
    ]


def results(events: list[Event]) -> dict[str, object]:
    return {event.tool_id: event.result for event in events if isinstance(event, ToolCallEnd)}


def test_calls_side_by_side_may_end_in_any_order() -> None:
    events: list[Event] = [start("a", n=1), start("b", n=2), end("b", result=2), end("a", result=1)]
    assert run(Tools(), events) == events


def test_call_with_two_ends_has_one() -> None:
    tools = Tools()
    assert ids(run(tools, [start("a"), end("a"), end("a"), end("a")])) == [
        ("tool_call_start", "a"),
        ("tool_call_end", "a"),
    ]
    assert tools.repairs == 2


@pytest.mark.parametrize("orphan", [end("x", "lookup"), ToolCallProgress(tool_id="x", tool_name="lookup")])
def test_end_without_a_start_gets_one_with_a_warning(orphan: Event) -> None:
    warning, made_up, passed = run(Tools(), [orphan])
    assert isinstance(warning, Warning)
    assert warning.message_code == "TOOL_CALL_REPAIRED"
    assert made_up == ToolCallStart(tool_id="x", tool_name="lookup")
    assert passed == orphan


def test_end_without_id_or_call_is_repaired() -> None:
    assert shown(run(Tools(), [end(result=1)]))[1:] == [
        ("tool_call_start", FIRST, "unknown", {}),
        ("tool_call_end", FIRST, "success", 1),
    ]


def test_calls_without_ids_in_a_row_end_in_order() -> None:
    events: list[Event] = [
        start("", "a"),
        start("", "b"),
        start("", "a"),
        end(name="a", result=1),
        end(name="b", result=2),
    ]
    assert results(run(Tools(), [*events, end(result=3)])) == {FIRST: 1, SECOND: 2, THIRD: 3}


def test_end_without_an_id_after_other_events_is_of_the_last_call() -> None:
    position = StreamPosition(0, 0)
    tools = Tools(position=position)
    events: list[Event] = [start("", "a"), start("", "a"), end(name="a", result=2), end(name="a", result=1)]
    passed: list[Event] = []
    for number, event in enumerate(events):
        position.written = 10 * number
        passed += run(tools, [event])
    assert results(passed) == {FIRST: 1, SECOND: 2}


def test_end_with_an_id_finds_the_call_without_one() -> None:
    assert results(run(Tools(), [start("", "a"), start("", "b"), end("x", "a", 1)])) == {FIRST: 1}


def test_made_up_ids_of_two_requests_differ() -> None:
    tools = [Tools(request_id=f"req_{number}") for number in (1, 2)]
    made = {tool_id for one in tools for _, tool_id in ids(run(one, [start(""), start("", "other")]))}
    assert len(made) == 4
    assert all(map(is_made_call_id, made))


def test_made_up_ids_avoid_those_of_the_upstream() -> None:
    assert ids(run(Tools(), [start(FIRST), start(""), start(SECOND)])) == [
        ("tool_call_start", FIRST),
        ("tool_call_start", SECOND),
        ("tool_call_start", f"{SECOND}_3"),
    ]


def test_reused_id_is_another_call() -> None:
    events = run(Tools(), [start("a", n=1), end("a", result=1), start("a", n=2), end("a", result=2)])
    assert results(events) == {"a": 1, "a_1": 2}


def test_ids_stay_unique_when_older_ones_are_forgotten() -> None:
    calls = [f"call-{number % 400}" for number in range(2000)]
    events = run(Tools(room=16 << 10), [event for name in calls for event in (start(name), end(name))])
    assert [kind for kind, _ in ids(events)] == ["tool_call_start", "tool_call_end"] * 2000
    begun, ended = (
        [tool_id for kind, tool_id in ids(events) if kind == f"tool_call_{word}"] for word in ("start", "end")
    )
    assert len({*begun}) == 2000
    assert begun == ended
    assert begun[:70] == calls[:70]


def test_repeated_start_is_one_call() -> None:
    assert ids(run(Tools(), [start("a", n=1), start("a", n=1)])) == [("tool_call_start", "a")]


def test_open_calls_with_one_id_are_matched_by_name_then_order() -> None:
    events: list[Event] = [start("a", "x"), start("a", "y", n=1), start("a", "y", n=2)]
    ends = [end("a", "y", 1), end("a", "x", 2), end("a", None, 3)]
    assert results(run(Tools(), [*events, *ends])) == {"a_1": 1, "a": 2, "a_2": 3}


@pytest.mark.parametrize("last", [failure(), SessionEnd(), SessionEnd(status="cancelled")])
def test_open_calls_are_closed_before_the_end(last: Event) -> None:
    closing, passed = run(Tools(), [start("a"), last])[1:]
    assert isinstance(closing, ToolCallEnd)
    assert (closing.status, closing.error and closing.error["code"]) == ("failed", "TOOL_INCOMPLETE")
    assert passed is last


def test_calls_stay_open_when_the_session_is_suspended_or_continues() -> None:
    accepts_text = Error(error_type="system", code="X_Y_Z", message="", recoverable=True, terminal=False)
    events: list[Event] = [start("a"), accepts_text, SessionEnd(status="suspended")]
    assert run(Tools(), events) == events


def test_interaction_has_the_clients_id_of_the_call() -> None:
    events = run(Tools(), [start("a"), end("a"), start("a"), Interaction(interaction_id="a", kind="tool")])
    assert shown(events)[-1][1] == "a_1"


def test_call_for_the_client_has_a_start() -> None:
    asked = Interaction(interaction_id="x", kind="tool", title="pick_colour")
    assert shown(run(Tools(), [asked]))[1:2] == [("tool_call_start", "x", "pick_colour", {})]
    form = Interaction(interaction_id="x", kind="form")
    assert run(Tools(), [form]) == [form]


def test_argument_pieces_pass_only_where_they_are_asked_for() -> None:
    piece = ToolCallDelta(tool_id="a", tool_name="search", arguments_delta="{")
    assert run(Tools(), [piece]) == []
    events: list[Event] = [piece, start("a")]
    assert run(Tools(stream_arguments=True), events) == events


def test_late_argument_pieces_are_dropped() -> None:
    piece = ToolCallDelta(tool_id="a", arguments_delta="{")
    events = run(Tools(stream_arguments=True), [start("a"), piece, end("a"), piece])
    assert [event.type for event in events] == ["tool_call_start", "tool_call_end"]


def test_arguments_that_break_off_have_a_start_and_an_end() -> None:
    piece = ToolCallDelta(tool_id="a", tool_name="search", arguments_delta='{"q')
    assert ids(run(Tools(stream_arguments=True), [piece, failure()])) == [
        ("tool_call_delta", "a"),
        ("tool_call_start", "a"),
        ("tool_call_end", "a"),
    ]


def test_pieces_of_a_reused_id_belong_to_the_new_call() -> None:
    piece = ToolCallDelta(tool_id="b", arguments_delta="{}")
    events = run(Tools(stream_arguments=True), [piece, start("b"), end("b"), start("b")])
    assert [tool_id for _, tool_id in ids(events)] == ["b", "b", "b", "b_1"]


def test_call_with_streamed_arguments_can_be_handed_to_the_client() -> None:
    asked = Interaction(interaction_id="a", kind="tool")
    pieces: list[Event] = [ToolCallDelta(tool_id="a", arguments_delta="{"), asked]
    events = run(Tools(stream_arguments=True), pieces)
    assert [event.type for event in events] == [
        "tool_call_delta",
        "warning",
        "tool_call_start",
        "interaction",
    ]


def test_more_open_calls_than_can_be_kept_end_the_stream() -> None:
    with pytest.raises(LimitExceeded):
        run(Tools(room=1 << 20), (start(f"t{number}") for number in range(1000)))
    with pytest.raises(LimitExceeded):
        run(Tools(room=1 << 20), (start(f"t{number}" * 200) for number in range(500)))


@pytest.mark.parametrize("open_calls", [0, 400])
def test_stream_with_more_calls_than_are_kept_ends(open_calls: int) -> None:
    stage = Tools(room=1 << 20, stream_arguments=True)
    run(stage, (start(f"t{number}") for number in range(open_calls)))
    pieces: list[Event] = [ToolCallDelta(f"a{number}", "f", "{") for number in range(1000)]
    with pytest.raises(LimitExceeded):
        run(stage, pieces)
    ending = run(stage, [SessionEnd(status="error")])
    starts = {event.tool_id for event in ending if isinstance(event, ToolCallStart)}
    ends = [event.tool_id for event in ending if isinstance(event, ToolCallEnd)]
    assert len(starts) > 100
    assert len(ends) == len({*ends}) == len(starts) + open_calls


def test_arguments_take_no_room() -> None:
    calls: list[Event] = [start(f"t{number}", text="word " * 10_000) for number in range(100)]
    assert len(run(Tools(room=1 << 20), calls)) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: [event for i in range(n) for event in (start(f"t{i}"), end(f"t{i}"))],
        lambda n: [start("", f"name{i}") for i in range(900)] + [end(name="other") for _ in range(n)],
        lambda n: [start("same", n=i) for i in range(900)] + [end("same") for _ in range(900)],
        lambda n: [start("", "a") for _ in range(900)] + [end("", "a") for _ in range(900)],
        lambda n: [end(f"orphan{i}") for i in range(n)],
    ],
)
def test_many_calls_take_linear_time_and_bounded_memory(hostile: object) -> None:
    tools = Tools(room=ROOM)
    events = hostile(20_000)  # type: ignore[operator]
    began = time.process_time()
    run(tools, events)
    assert time.process_time() - began < 3
    room = ROOM // 4
    assert kept_after(lambda: Tools(room=room), hostile(5_000)) <= 2 * room  # type: ignore[operator]
