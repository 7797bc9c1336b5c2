"""The decoders that read some messages in a shorter way read them as they read all others."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from places import RECORDED
from streams import translate

PIECES = st.sampled_from(
    ["Hello ", "more ", "哈", "哈哈", "\n", "* a", "x < y ", "<think>", "</think>", "\n**ERROR**: broken"]
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "reference": st.sampled_from([{}, {}, None, {"chunks": [{"id": "1", "document_name": "a.pdf"}]}]),
    "audio_binary": st.sampled_from([None, None, None, "aGk="]),
    "id": st.sampled_from(["m1", "m1", "m1", "m2", None]),
    "session_id": st.sampled_from(["s1", "s1", "s1", "s2", None]),
}
"""The fields beside the answer: mostly the same ones, as in the frames of the server."""


def cumulative(steps: list[tuple[str, bool, dict[str, Any]]], **beside: Any) -> bytes:
    """Return the frames of a chat that hold the answer until then, with `beside` in their data."""
    answer, frames = "", []
    for piece, begins_anew, fields in steps:
        answer = piece if begins_anew else answer + piece
        data = {"answer": answer, **fields, **beside}
        message = {"code": 0, "message": "", "data": data}
        frames.append(b"data:%b\n\n" % json.dumps(message).encode())
    return b"".join(frames)


@pytest.mark.parametrize("answer", ["auto", "cumulative", "delta"])
@given(
    steps=st.lists(st.tuples(PIECES, st.booleans().map(int), st.fixed_dictionaries({}, optional=FIELDS))),
    restarts=st.booleans(),
)
@example(
    steps=[(piece, False, {}) for piece in ("Hello ", "more ", "more ", "\n**ERROR**: broken")],
    restarts=False,
)
def test_ragflow_answer_with_an_ignored_field_has_the_events_of_one_without(
    answer: str, steps: list[tuple[str, bool, dict[str, Any]]], *, restarts: bool
) -> None:
    steps = [(piece, restarts and anew, fields) for piece, anew, fields in steps]
    options: dict[str, Any] = {"speaks": "ragflow", "protocol_options": {"ragflow": {"answer": answer}}}
    end = b"data:[DONE]\n\n"
    plain = translate([cumulative(steps) + end], **options)
    assert plain == translate([cumulative(steps, created_at=1.5) + end], **options)


@pytest.mark.parametrize("path", sorted((RECORDED / "anthropic").glob("*.sse")), ids=lambda path: path.stem)
def test_anthropic_messages_in_another_spelling_have_the_same_events(path: Any) -> None:
    body = path.read_bytes()
    spelled = re.sub(rb'^(data: \{)("type")', rb"\1  \2", body, flags=re.MULTILINE)
    assert spelled != body
    assert translate([spelled], speaks="anthropic") == translate([body], speaks="anthropic")
