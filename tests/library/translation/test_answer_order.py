"""A whole answer keeps the order of its stream in protocols whose answer is a list."""

import json
from typing import Any

import pytest

from streamweir import Translator
from streamweir.codec import whole_turn
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Content, Thinking
from streamweir.translation import answer_order
from streamweir.translation.answer_order import AnswerOrder
from streamweir.translation.fold import Fold

TEXT_A = {"type": "content", "data": {"content": "One."}}
TEXT_B = {"type": "content", "data": {"content": "Two."}}
THOUGHT = {"type": "thinking", "data": {"content": "Hm."}}
OVER = {"type": "session_end", "data": {"status": "completed", "reason": "done"}}

WAITS = {"type": "session_end", "data": {"status": "suspended", "reason": "done"}}


def call(tool_id: str) -> list[dict[str, Any]]:
    start = {"tool_id": tool_id, "tool_name": "look", "arguments": {"q": 1}, "start_time": 1}
    end = {"tool_id": tool_id, "tool_name": "look", "status": "completed", "result": "found", "end_time": 2}
    return [{"type": "tool_call_start", "data": start}, {"type": "tool_call_end", "data": end}]


def text(content: str, message_id: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"message_id": message_id} if message_id else {}
    return {"type": "content", "data": {"content": content, **more}, "metadata": metadata}


def whole(speaks: str, events: list[dict[str, Any]], **options: Any) -> Any:
    translator = Translator(
        speaks="standard",
        answers=speaks,
        framing="json",
        request_id="r",
        session_id="s",
        clock=lambda: 1,
        protocol_options=options,
    )
    begin = {"type": "session_start", "data": {"session_id": "s", "protocol_version": "1.1"}}
    lines = [begin, *events, *([] if events[-1]["type"] == "session_end" else [OVER])]
    body = b"".join(b"data: %b\n\n" % json.dumps({"metadata": {}, **line}).encode() for line in lines)
    return json.loads(translator.feed(body) + translator.close())


def anthropic_parts(events: list[dict[str, Any]]) -> list[str]:
    blocks = whole("anthropic", events, anthropic={"tools": "blocks"})["content"]
    return [block.get("text") or block.get("thinking") or block["type"] for block in blocks]


def responses_parts(events: list[dict[str, Any]]) -> list[str]:
    names = []
    for item in whole("openai-responses", events)["output"]:
        inner = item.get("content") or item.get("summary")
        names.append(inner[0]["text"] if inner else item["type"])
    return names


USE = ["mcp_tool_use", "mcp_tool_result"]


def test_whole_answer_with_text_between_calls_keeps_their_order() -> None:
    events = [TEXT_A, *call("a"), THOUGHT, TEXT_B, *call("b")]
    assert anthropic_parts(events) == ["One.", *USE, "Hm.", "Two.", *USE]
    assert responses_parts(events) == ["One.", "mcp_call", "Hm.", "Two.", "mcp_call"]


def test_whole_answer_without_its_calls_has_one_text() -> None:
    blocks = whole("anthropic", [TEXT_A, *call("a"), TEXT_B], anthropic={"tools": "none"})["content"]
    assert [block["text"] for block in blocks] == ["One.Two."]


@pytest.mark.parametrize("parts", [anthropic_parts, responses_parts])
def test_whole_answer_with_two_messages_separates_them_by_an_empty_line(parts: Any) -> None:
    assert parts([text("One.", "a"), text("Two.", "b")]) == ["One.\n\nTwo."]
    assert parts([text("One.", "a"), text(" Two.", "a")]) == ["One. Two."]
    assert parts([text("One.", is_complete=True), text("Two.")]) == ["One.\n\nTwo."]


def test_whole_answer_with_a_replaced_message_has_the_new_text_in_its_place() -> None:
    events = [
        text("On", "a"),
        *call("t"),
        text("e.", "a"),
        text("Three.", "b"),
        text("Two.", "a", op="replace"),
    ]
    assert anthropic_parts(events) == ["Two.", *USE, "\n\nThree."]


def test_whole_answer_with_a_clients_call_keeps_its_place() -> None:
    asked = {"interaction_id": "t", "kind": "tool", "state": "requested", "message": "look", "options": []}
    events = [TEXT_A, call("t")[0], {"type": "interaction", "data": {**asked, "tool_id": "t"}}, WAITS]
    assert anthropic_parts(events) == ["One.", "tool_use"]
    assert responses_parts(events) == ["One.", "function_call"]


def test_answer_order_with_too_many_changes_is_forgotten() -> None:
    fold = Fold()
    order = AnswerOrder(fold, limit=1)
    for _ in range(20):
        for event in (Content("a"), Thinking("b")):
            fold.add(event)
            order.add(event)
    assert order.entries() is None


def test_replaced_text_of_a_message_in_many_places_empties_each_place_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0

    class Pieces(TextPieces):
        def __init__(self) -> None:
            nonlocal made
            made += 1
            super().__init__()

    monkeypatch.setattr(answer_order, "TextPieces", Pieces)
    fold = Fold("r", limit=None)
    order = AnswerOrder(fold, limit=None)
    for number in range(500):
        for event in (Content("a"), Thinking("b"), Content(f"new {number}", op="replace")):
            order.add(event)
    assert made < 4 * 500
    assert [entry["text"] for entry in order.entries() or () if entry["kind"] == "text"] == ["new 499"]


def test_text_behind_a_replaced_message_is_replaced_with_it() -> None:
    events = [text("One."), THOUGHT, text("Two."), text("New.", op="replace"), text(" More.")]
    assert anthropic_parts(events) == ["New.", "Hm.", " More."]
    assert anthropic_parts([*events, text("Last.", op="replace")]) == ["Last.", "Hm."]
    assert anthropic_parts([*events, THOUGHT, text("Last.", op="replace")]) == ["Last.", "Hm.Hm."]


class Unadded(str):
    """A text that may be joined, but not added to another one."""

    __slots__ = ()

    def __add__(self, other: str) -> str:
        raise AssertionError(other)


def test_texts_of_one_part_are_joined_once() -> None:
    parts = [whole_turn.Part("text", Unadded(f"{number} ")) for number in range(3)]
    found = [*whole_turn._joined([*parts, whole_turn.Part("thinking", "t"), *parts])]
    assert [(part.kind, part.text) for part in found] == [
        ("text", "0 1 2 "),
        ("thinking", "t"),
        ("text", "0 1 2 "),
    ]
