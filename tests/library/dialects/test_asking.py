"""A person who is asked reads the question, whatever the client's protocol."""

import json

import pytest

from streams import sse_messages
from streamweir import convert
from streamweir.codec.registry import process_dialects

ASKED: dict[str, dict[str, object]] = {
    "approval": {"title": "Delete the table?"},
    "continue": {"description": "Ten steps are done. Shall it go on?"},
    "form": {"title": "Trip", "schema": {"type": "object", "properties": {"city": {"title": "Which city?"}}}},
    "questions": {
        "title": "Before it starts",
        "questions": [{"text": "Which table?", "options": ["Orders", "Drinks"]}],
    },
    "handoff": {"title": "Billing", "description": "It is about money."},
}
WORDS = {
    "approval": "Delete the table?",
    "continue": "go on",
    "form": "Which city?",
    "handoff": "It is about money.",
    "questions": "Which table?",
}


def asking(kind: str) -> bytes:
    asked = {"interaction_id": "i-1", "kind": kind, "state": "requested", **ASKED[kind]}
    events = [
        {"type": "content", "data": {"content": "So far."}},
        {"type": "interaction", "data": asked},
        {"type": "session_end", "data": {"status": "suspended"}},
    ]
    return b"".join(json.dumps({**event, "metadata": {}}).encode() + b"\n" for event in events)


@pytest.mark.parametrize("answers", process_dialects().writable)
@pytest.mark.parametrize("kind", ASKED)
def test_question_of_each_kind_is_written(kind: str, answers: str) -> None:
    output = convert(asking(kind), speaks="standard", answers=answers)
    assert WORDS[kind] in output.decode()
    assert str(ASKED[kind].get("title", "")) in output.decode()


@pytest.mark.parametrize("kind", ["approval", "questions"])
def test_easyflow_has_one_form_for_asking(kind: str) -> None:
    output = convert(asking(kind), speaks="standard", answers="easyflow")
    (asked,) = [frame["payload"] for frame in sse_messages(output) if frame["domain"] == "interaction"]
    (field,) = asked["schema"]["properties"].values()
    assert field.get("enum") == (["Orders", "Drinks"] if kind == "questions" else None)
    assert field["type"] == ("string" if kind == "questions" else "boolean")
    back = convert(output, speaks="easyflow", answers="standard").decode()
    assert f'"kind":"{kind}"' in back
