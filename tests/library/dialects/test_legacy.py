"""The old vocabulary with `final_answer: on`: the answer as it stands, once, before the end."""

import json
from typing import Any

import pytest

from streamweir import convert

END = {"type": "session_end", "data": {"status": "completed", "reason": "done"}}
SENT = ("token", "final_answer", "warning", "error", "done")


def text(content: str, message_id: str | None = None, **data: Any) -> dict[str, Any]:
    metadata = {"message_id": message_id} if message_id else {}
    return {"type": "content", "data": {"content": content, **data}, "metadata": metadata}


def written(*events: dict[str, Any]) -> list[dict[str, Any]]:
    body = b"".join([json.dumps(event).encode() + b"\n" for event in events])
    options = {"legacy": {"final_answer": "on"}}
    out = convert(body, speaks="standard", answers="legacy", framing="ndjson", protocol_options=options)
    return [message for line in out.splitlines() if (message := json.loads(line))["type"] in SENT]


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ([text("Hello "), text("world")], "Hello world"),  # pieces
        ([text("draft"), text("final", op="replace")], "final"),  # replaced
        ([text("a", "m1"), text("b", "m2"), text("A", "m1", op="replace")], "Ab"),
        ([text("a", is_complete=True), text("b"), text("B", op="replace")], "aB"),
        ([text("a" * 700_000), text("b" * 700_000)], None),  # too long
        ([], None),  # no text
    ],
)
def test_final_answer_with_pieces_equals_the_answer(events: list[dict[str, Any]], answer: str | None) -> None:
    messages = written(*events, END)

    assert [message["content"] for message in messages if message["type"] == "final_answer"] == (
        [] if answer is None else [answer]
    )
    assert messages[-1]["type"] == "done"
    warned = [message["message_code"] for message in messages if message["type"] == "warning"]
    assert warned == ([] if events else ["END_UNCONFIRMED"])


def test_answer_that_broke_off_is_not_repeated() -> None:
    assert [message["type"] for message in written(text("Hello"))] == ["token", "error"]


@pytest.mark.parametrize(
    "events",
    [
        [text("a" * 1_100_000), text("b", op="replace")],
        [text("a"), text("", op="replace")],  # an empty answer is none
    ],
)
def test_replacement_without_a_final_answer_is_reported(events: list[dict[str, Any]]) -> None:
    messages = written(*events, END)

    assert [message["type"] for message in messages] == ["token", "warning", "done"]
    assert messages[1]["message_code"] == "LOSSY_CONVERSION"
