"""What an upstream that takes one message is sent of the conversation."""

from typing import Any

import pytest

from streamweir import write_request
from streamweir.requests.canonical import Message
from streamweir.requests.inline_history import MAX_HISTORY_BYTES, inline_text

SYSTEM: Message = {"role": "system", "content": "be kind"}
FIRST: Message = {"role": "user", "content": "hi"}
REPLY: Message = {"role": "assistant", "content": "yes?"}
NEXT: Message = {"role": "user", "content": "more"}
CALL: Message = {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "arguments": {}}]}
RESULT: Message = {"role": "tool", "tool_call_id": "c", "content": "3"}

CASES: list[tuple[list[Message], bool, str, set[str]]] = [
    ([FIRST], False, "hi", set()),
    ([SYSTEM, FIRST], False, "<conversation>\nsystem: be kind\n</conversation>\n\nhi", set()),
    ([SYSTEM, FIRST], True, "hi", {"system"}),
    (
        [FIRST, REPLY, NEXT],
        False,
        "<conversation>\nuser: hi\nassistant: yes?\n</conversation>\n\nmore",
        set(),
    ),
    ([FIRST, REPLY, NEXT], True, "more", set()),
    (
        [FIRST, CALL, RESULT],
        False,
        "<conversation>\nuser: hi\ntool: 3\n</conversation>\n\nContinue.",
        set(),
    ),
    ([FIRST, CALL, RESULT], True, "<conversation>\ntool: 3\n</conversation>\n\nContinue.", set()),
    ([FIRST, CALL, RESULT, NEXT], True, "<conversation>\ntool: 3\n</conversation>\n\nmore", set()),
]


@pytest.mark.parametrize(("messages", "knows_thread", "expected", "lost"), CASES)
def test_unknown_turns_precede_the_text(
    messages: list[Message], knows_thread: bool, expected: str, lost: set[str]
) -> None:
    found = inline_text(messages, knows_thread=knows_thread, keeps_history=True)
    assert (found.text, {*found.lost}) == (expected, lost)


def test_keeps_history_false_leaves_earlier_turns_out() -> None:
    found = inline_text([SYSTEM, FIRST, REPLY, NEXT], knows_thread=False, keeps_history=False)
    assert (found.text, {*found.lost}) == ("more", {"system", "history"})


def test_newest_turns_are_kept_within_the_limit() -> None:
    turns: list[Message] = [{"role": "user", "content": f"{number} " + "a" * 10_000} for number in range(20)]
    found = inline_text([*turns, NEXT], knows_thread=False, keeps_history=True)
    assert len(found.text.encode()) <= MAX_HISTORY_BYTES + len("more")
    assert "user: 19 " in found.text
    assert "user: 5 " not in found.text
    assert found.lost == {"history"}


def test_legacy_message_contains_the_history() -> None:
    request: dict[str, Any] = {"messages": [FIRST, REPLY, NEXT]}
    (written,) = write_request(request, dialect="legacy")
    assert written["body"]["message"].endswith("\n\nmore")
    (written,) = write_request({**request, "thread_id": "t"}, dialect="legacy")
    assert written["body"] == {"message": "more", "thread_id": "t", "stream": True}
