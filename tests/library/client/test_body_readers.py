"""Bodies become received events however the network cuts them, and whatever they hold."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from cases import for_each
from streams import Recorded, dialect_of, events_of, one_byte_each, recorded_streams, small_pieces, translate
from streamweir import MessageStreamHandler, ReceivedEvent
from streamweir.client.body_readers import BodyReader, open_reader
from streamweir.errors import error_info
from streamweir.events import SessionEnd

STREAMS = recorded_streams()
KINDS = st.sampled_from(["session_start", "content", "error", "session_end", "hologram", "tool_call_end"])
MESSAGES = st.builds(
    lambda kind, data: f'{{"type": "{kind}", "data": {data}}}'.encode(),
    KINDS,
    st.sampled_from(["{}", '{"content": "Hi"}', '{"message": "m", "terminal": true}', "null", "[1]", "3"]),
)
LINES = st.one_of(MESSAGES, st.sampled_from([b"[DONE]", b"{", b"", b": ping", b"<p>"]), st.binary(max_size=8))
BODIES = st.lists(LINES.map(lambda line: b"data: " + line + b"\n\n") | LINES, max_size=8).map(b"".join)


def read(reader: BodyReader, pieces: list[bytes]) -> list[ReceivedEvent]:
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.close()


@for_each("stream", STREAMS, group=dialect_of)
def test_standard_body_keeps_its_events(stream: Recorded) -> None:
    body = translate(
        [stream.body], speaks=stream.dialect, protocol_options={stream.dialect: stream.options}, framing="sse"
    )
    sent = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
    for pieces in ([body], small_pieces(body)):
        events = read(open_reader("standard", request_id="r", path="/"), pieces)
        assert [event.to_dict() for event in events] == sent


TRANSLATED = [stream for stream in STREAMS if stream.dialect != "standard" and not stream.options]


@for_each("stream", TRANSLATED, group=dialect_of)
def test_any_dialect_gives_the_message_that_it_means(stream: Recorded) -> None:
    handler = MessageStreamHandler()
    for received in read(
        open_reader(stream.dialect, request_id="req_1", path="/"), small_pieces(stream.body)
    ):
        handler.handle_event(received)
    expected = MessageStreamHandler()
    for event in events_of(translate([stream.body], speaks=stream.dialect)):
        expected.handle_event(event)
    assert handler.message.folded()["message"] == expected.message.folded()["message"]


def test_folded_result_in_place_of_a_stream_is_unfolded() -> None:
    (folded,) = [stream for stream in STREAMS if str(stream) == "standard/folded.json"]
    handler = MessageStreamHandler()
    events = read(open_reader("standard", request_id="r", path="/"), one_byte_each(folded.body))
    for event in events:
        handler.handle_event(event)
    result = json.loads(folded.body)
    assert handler.message.folded()["message"]["content"] == result["message"]["content"]
    assert (handler.message.status, handler.message.metadata.request_id) == ("suspended", "req_1")
    assert (events[0].type, events[-1].type) == ("session_start", "session_end")


@settings(deadline=None)
@given(BODIES, st.sampled_from(["standard", "legacy", "auto"]))
def test_any_body_ends_properly(body: bytes, speaks: str) -> None:
    whole = read(open_reader(speaks, request_id="r", path="/"), [body])
    kinds = [event.type for event in whole]
    assert kinds[-1] == "session_end"
    assert kinds.count("session_end") == 1
    failed = isinstance(whole[-1].data, SessionEnd) and whole[-1].data.status == "error"
    assert not failed or "error" in kinds
    cut = read(open_reader(speaks, request_id="r", path="/"), one_byte_each(body))
    assert [event.type for event in cut] == kinds


@settings(deadline=None)
@given(BODIES, st.sampled_from(["standard", "legacy"]))
def test_any_body_may_break_off(body: bytes, speaks: str) -> None:
    reader = open_reader(speaks, request_id="r", path="/")
    events = reader.feed(body) + reader.fail(error_info("UPSTREAM_TRUNCATED"))
    assert [event.type for event in events].count("session_end") == 1
    assert reader.ended
    assert reader.feed(b"data: {}\n\n") == reader.fail(error_info("INTERNAL")) == reader.close() == []
