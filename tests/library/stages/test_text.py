"""Text arrives once, and every message that began is completed."""

import time

import pytest

from stage_harness import kept_after, run, shown
from streamweir.events import (
    Content,
    Error,
    Event,
    Meta,
    SessionEnd,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.stages import FullText, TextDeduplication
from streamweir.stages.text_digest import KEPT_CHARACTERS

TOOL: list[Event] = [ToolCallStart(tool_id="t", tool_name="x"), ToolCallEnd(tool_id="t")]


def piece(text: str, message_id: str | None = None, **fields: object) -> Content:
    meta: Meta | None = {"message_id": message_id} if message_id else None
    return Content(content=text, meta=meta, **fields)  # type: ignore[arg-type]


def repeat(text: str, message_id: str | None = None) -> Content:
    return piece(text, message_id, is_complete=True, whole="repeat")


def snapshot(text: str, message_id: str | None = None) -> Content:
    return piece(text, message_id, whole="snapshot")


def said(events: list[Event], stage: TextDeduplication | None = None) -> list[str]:
    """The texts that leave; a replacement is marked with `=`, the last piece of a message with `.`"""
    out = run(stage or TextDeduplication(), [*events, SessionEnd()])
    return [
        f"{'=' if event.op == 'replace' else ''}{event.content}{'.' if event.is_complete else ''}"
        for event in out
        if isinstance(event, Content)
    ]


def test_repetition_of_all_completes_the_message() -> None:
    assert said([piece("Hel"), piece("lo"), repeat("Hello")]) == ["Hel", "lo", "."]


def test_repetition_with_more_text_adds_the_rest() -> None:
    assert said([piece("Hello"), repeat("Hello, world")]) == ["Hello", ", world."]


def test_repetition_with_other_text_replaces() -> None:
    assert said([piece("41"), repeat("It is 42")]) == ["41", "=It is 42."]


def test_replaced_text_is_completed() -> None:
    assert said([piece("41"), piece("", op="replace")]) == ["41", "=", "."]


def test_repetition_without_pieces_is_the_message() -> None:
    assert said([repeat("Hello")]) == ["Hello."]


def test_repetition_since_the_last_tool_completes_the_message() -> None:
    assert said([piece("Let me see. "), *TOOL, piece("It is "), piece("42"), repeat("It is 42")]) == [
        "Let me see. ",
        "It is ",
        "42",
        ".",
    ]


def test_answer_after_the_last_tool_without_pieces_is_added() -> None:
    assert said([piece("Let me see."), *TOOL, repeat("42")]) == ["Let me see.", "42."]


def test_edited_copy_after_a_tool_replaces() -> None:
    assert said([piece("The long answer is 41"), *TOOL, repeat("The long answer is 42")]) == [
        "The long answer is 41",
        "=The long answer is 42.",
    ]


def test_white_space_and_the_normal_form_make_no_other_text() -> None:
    assert said([piece("cafe\u0301 "), repeat("  café")]) == ["cafe\u0301 ", "."]


def test_pieces_that_look_like_repetitions_are_pieces() -> None:
    """`哈` and then `哈哈` are three characters of laughter, unless the decoder calls them snapshots."""
    assert said([piece("哈"), piece("哈哈"), piece("哈哈")]) == ["哈", "哈哈", "哈哈", "."]
    assert said([snapshot("哈"), snapshot("哈哈"), snapshot("哈哈")]) == ["哈", "哈", "."]


def test_snapshots_become_pieces_again_and_may_be_rewritten() -> None:
    assert said([snapshot("a"), snapshot("ab"), snapshot("xb"), snapshot("xbc")]) == [
        "a",
        "b",
        "=xb",
        "c",
        ".",
    ]


@pytest.mark.parametrize(
    ("full_text", "leaves"),
    [
        ("dedupe", ["Hi", "."]),
        ("append", ["Hi", "Hi."]),
        ("replace", ["Hi", "=Hi."]),
    ],
)
def test_repetition_follows_the_option_full_text(full_text: FullText, leaves: list[str]) -> None:
    assert said([piece("Hi"), repeat("Hi")], TextDeduplication(full_text=full_text)) == leaves


def test_repetition_is_known_if_it_or_its_pieces_lack_the_id() -> None:
    assert said([piece("Hi"), repeat("Hi", "m1")]) == ["Hi", "."]
    out = run(TextDeduplication(), [piece("Hi", "m1"), repeat("Hi!"), SessionEnd()])
    assert shown(out)[1] == ("content", "!", True)
    assert out[1].meta == {"message_id": "m1"}


def test_two_messages_with_the_same_text_are_both_sent() -> None:
    assert said([piece("OK", "m1"), repeat("OK", "m2")]) == ["OK", "OK.", "."]


def test_long_text_is_compared_by_its_hash() -> None:
    text = "0123456789" * (KEPT_CHARACTERS // 5)
    pieces = [piece(text[start : start + 1000]) for start in range(0, len(text), 1000)]
    assert said([*pieces, repeat(text + "!")])[-1] == "!."
    assert said([*pieces, repeat("x" + text)])[-1] == f"=x{text}."


def test_very_long_text_is_compared_by_its_hash_however_it_arrived() -> None:
    text = "\u00e9 \ud83d\ude00 \ud83d x" * (4 * KEPT_CHARACTERS)
    pieces = [piece(text[start : start + 70_001]) for start in range(0, len(text), 70_001)]
    for before in (pieces, [piece(text)]):
        assert said([*before, repeat(text + "!")])[-1] == "!."
        assert said([*before, repeat("x" + text)])[-1] == f"=x{text}."


def test_messages_and_channels_are_completed_separately() -> None:
    events = [
        piece("a", "m1"),
        piece("b", "m2"),
        piece("c", "m1", channel="report"),
        piece("", "m2", is_complete=True),
    ]
    assert shown(run(TextDeduplication(), [*events, SessionEnd()]))[4:-1] == [
        ("content", "", True),
        ("content", "", True, "report"),
    ]


def test_messages_without_an_id_follow_one_another() -> None:
    assert said([piece("a", is_complete=True), *TOOL, piece("b"), *TOOL, piece("c")]) == ["a.", "b", "c", "."]


def test_empty_piece_is_dropped() -> None:
    assert said(
        [piece(""), piece("", is_complete=True), piece("a", is_complete=True), piece("", is_complete=True)]
    ) == [
        ".",
        "a.",
    ]
    assert run(TextDeduplication(), [Thinking(content="")]) == []


def test_error_that_is_not_terminal_completes_no_message() -> None:
    error = Error(error_type="system", code="X_Y_Z", message="", recoverable=True, terminal=False)
    assert run(TextDeduplication(), [piece("a"), error]) == [piece("a"), error]


def test_thinking_snapshots_become_pieces_and_a_new_thought_begins_anew() -> None:
    thoughts = [Thinking(content=text, whole="snapshot") for text in ("I", "I see", "I see", "But")]
    assert shown(run(TextDeduplication(), thoughts)) == [
        ("thinking", "I"),
        ("thinking", " see"),
        ("thinking", "But"),
    ]


@pytest.mark.slow
def test_many_messages_take_linear_time_and_bounded_memory() -> None:
    messages: list[Event] = [piece("text", f"m{number}") for number in range(30_000)]
    began = time.process_time()
    out = run(TextDeduplication(), [*messages, SessionEnd()])
    assert time.process_time() - began < 3
    completed = [event for event in out if isinstance(event, Content) and event.is_complete]
    assert len(completed) == 30_000
    assert kept_after(TextDeduplication, messages[:15_000]) <= 8 << 20


def test_message_completed_at_the_limit_continues_as_another() -> None:
    others = [piece("x", f"other{number}") for number in range(9)]
    mine = piece("a", "m")
    out = run(TextDeduplication(room=4000), [mine, *others, mine, *others, mine, mine, SessionEnd()])
    ids = [
        (event.meta or {})["message_id"]
        for event in out
        if isinstance(event, Content)
        and event.is_complete
        and (event.meta or {}).get("message_id", "")[0] == "m"
    ]
    assert len(ids) == len(set(ids)) == 3
    texts = [event.content for event in out if isinstance(event, Content)]
    assert texts.count("a") == 4


def test_fields_beside_a_text_take_no_room() -> None:
    def meta_of(number: int) -> Meta:
        return {"message_id": f"m{number}", "extra": {"x": "word " * 10_000}}

    messages: list[Event] = [Content(content="a", meta=meta_of(number)) for number in range(200)]
    assert kept_after(TextDeduplication, messages) <= 1 << 20


def test_many_pieces_take_linear_time_and_bounded_memory() -> None:
    stage = TextDeduplication()
    began = time.process_time()
    run(stage, (piece("some text of a piece", channel="c") for _ in range(200_000)))
    assert time.process_time() - began < 3
    (message,) = stage._messages.values()
    assert sum(map(len, message.all._pieces)) <= KEPT_CHARACTERS
