"""Events that a protocol has no place for: left out, counted, and reported before the end."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import events_of
from streamweir import Frame, Translator, convert
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.dialects.legacy.encode import LegacyEncoder
from streamweir.events import Content, Event, SessionEnd
from streamweir.testing import check_stream
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline

OLD: dict[str, Any] = {"standard": {"version": "1.0"}}


def written(*events: Content, protocol: str = "standard", options: Any = OLD) -> Any:
    """Return the bytes that a client gets of `events`."""
    writer = open_writer(protocol, "ndjson", request_id="req_1", options=options)
    pipeline = Pipeline((writer,), request_id="req_1", full_text="replace")
    stream: list[Event] = [*events, SessionEnd()]
    pipeline.take(stream)
    out = writer.take()
    assert check_stream(out, framing="ndjson") == []
    return events_of(out)


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [
        event["data"]["content"] + "." * bool(event["data"].get("is_complete"))
        for event in messages
        if event["type"] == "content"
    ]


def warned(messages: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["message"] for event in messages if event["type"] == "warning"]


def replaced(text: str, *, ends: bool = False, **meta: Any) -> Content:
    return Content(text, op="replace", is_complete=ends or None, meta=meta or None)  # type: ignore[arg-type]


def test_replacement_that_extends_the_text_is_appended() -> None:
    messages = written(Content("Hi"), replaced("Hi there"), replaced("Hi there!", ends=True))
    assert said(messages) == ["Hi", " there", "!."]
    assert warned(messages) == []


def test_replacement_that_contradicts_is_left_out_and_reported() -> None:
    messages = written(Content("41"), replaced("It is 42"), replaced("43", ends=True))
    assert said(messages) == ["41", "."]
    assert warned(messages) == ["This protocol could not carry: 2 x replaced text."]
    assert messages[-1]["data"]["summary"]["events"] == len(messages)


def test_text_behind_a_left_out_replacement_is_written() -> None:
    """An upstream that replaced a word continues its text; the client gets the continuation."""
    assert said(written(Content("The answr"), replaced("The answer"), Content(" is 42"))) == [
        "The answr",
        " is 42",
        ".",
    ]


def test_message_is_completed_once() -> None:
    done = Content("a", is_complete=True, meta={"message_id": "m"})
    assert said(written(done, replaced("b", message_id="m"))) == ["a."]


def test_messages_without_an_id_are_separated_by_their_ends() -> None:
    messages = written(Content("a", is_complete=True), Content("b"), replaced("bc"))
    assert said(messages) == ["a.", "b", "c", "."]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "ab", "abc", "x", ""]), st.booleans(), st.sampled_from([None, "m"]))
    )
)
def test_stream_of_1_0_has_no_replacement_and_is_valid(pieces: list[Any]) -> None:
    body = b"".join(
        b"data: %b\n\n"
        % json.dumps(
            {
                "type": "content",
                "data": {"content": text, **({"op": "replace"} if replaces else {})},
                "metadata": {"message_id": name} if name else {},
            }
        ).encode()
        for text, replaces, name in pieces
    )
    out = convert(body, speaks="standard", framing="ndjson", protocol_options=OLD)
    assert check_stream(out, framing="ndjson") == []
    assert b'"op"' not in out


@pytest.mark.parametrize("answers", ["easyflow", "stream-envelope"])
def test_left_out_replacement_is_reported_in_another_protocol(answers: str) -> None:
    translator = Translator(
        speaks="standard", answers=answers, request_id="req_1", full_text="replace", clock=lambda: 0
    )
    body = b'data: {"type":"content","data":{"content":"%b"%b},"metadata":{}}\n\n'
    out = translator.feed(body % (b"41", b"") + body % (b"42", b',"op":"replace"'))
    assert b"42" not in out
    assert translator.counts["lost"] == 1
    end = translator.feed(b'data: {"type":"session_end","data":{"status":"completed"},"metadata":{}}\n\n')
    assert b"replaced text" in end


class Pinging(LegacyEncoder):
    """Its clients know a ping of their own."""

    def heartbeat(self) -> Frame:
        return Frame(b'{"type":"ping"}')


def test_heartbeat_has_the_form_of_its_protocol() -> None:
    pinging = Dialect("pinging", None, Pinging)
    dialects = process_dialects().with_(pinging)
    own = Translator(speaks="legacy", answers="pinging", dialects=dialects)
    assert own.heartbeat() == b'data: {"type":"ping"}\n\n'
    assert Translator(speaks="legacy").heartbeat() == b": ping\n"
    assert Translator(speaks="legacy", framing="ndjson").heartbeat() == b"\n"
