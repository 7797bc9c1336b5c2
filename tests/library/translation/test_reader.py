"""The items that a reader returns, before any repair."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest

from streams import Recorded, random_cuts, recorded_streams
from streamweir import Decoder, Frame
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.errors import LimitExceeded, NotTheDialect
from streamweir.events import Content, Error, Event, ToolCallStart, Warning
from streamweir.options.limits import Limits
from streamweir.translation.items import FrameItems, StreamItem, TextRun, events_of, items_of
from streamweir.translation.reader import StreamReader

TOKENS = [b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(10)]
FIRST = {stream.dialect: stream for stream in reversed(recorded_streams())}


def read_by(reader: StreamReader, *pieces: bytes) -> Iterator[FrameItems]:
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.close()


def items_in(reader: StreamReader, *pieces: bytes) -> Iterator[StreamItem]:
    return items_of(read_by(reader, *pieces))


def events_in(items: Iterable[StreamItem]) -> Iterator[Event]:
    return events_of([([*items], None)])


def test_texts_that_differ_only_in_their_text_are_one_run() -> None:
    reader = StreamReader("legacy")
    items = [*items_in(reader, *TOKENS[:6], b"".join(TOKENS[6:]))]
    (run,) = items[6:]
    assert isinstance(run, TextRun)
    assert run.texts == ["word6 ", "word7 ", "word8 ", "word9 "]
    assert [event.content for event in events_in(items) if isinstance(event, Content)] == [
        f"word{number} " for number in range(10)
    ]


def test_texts_behind_another_event_are_a_run_from_the_first_on() -> None:
    call = b'data: {"type":"tool_call","tool_name":"search","tool_args":"{}"}\n\n'
    tokens = [token.replace(b"}", b',"sequence":7}') for token in TOKENS]
    items = [*items_in(StreamReader("legacy"), *tokens, call, *tokens[:4])]
    assert [type(item) for item in items[-5:]] == [ToolCallStart, TextRun, TextRun, TextRun, TextRun]


@pytest.mark.parametrize("written", [orjson.dumps, lambda message: json.dumps(message).encode()])
@pytest.mark.parametrize(("name", "kind"), [("legacy", "token"), ("data-formulator", "text_delta")])
def test_usual_texts_of_a_dialect_are_a_run_from_the_first_on(
    name: str, kind: str, written: Callable[[Any], bytes]
) -> None:
    texts = ["Hel", "lo", ' "you"', "\n"]
    pieces = [written({"type": kind, "content": text}) + b"\n" for text in texts]
    items = [*items_in(StreamReader(name), *pieces)]
    assert [type(item) for item in items[:4]] == [TextRun] * 4
    assert [event.content for event in events_in(items) if isinstance(event, Content)][:4] == texts


def test_template_of_a_stream_is_not_kept_for_another() -> None:
    decoder = process_dialects().to_read("legacy").decoder
    assert decoder is not None
    assert decoder.text_fields is not None
    before = {**vars(decoder.text_fields), "known": decoder.text_fields.known}
    reader = StreamReader("legacy")
    tokens = [token.replace(b"}", b',"session_id":"mine"}') for token in TOKENS]
    assert isinstance([*items_in(reader, *tokens)][-1], TextRun)
    assert vars(decoder.text_fields) == before
    assert type(next(items_in(StreamReader("legacy"), *tokens[:3]))) is Content


@pytest.mark.parametrize("stream", FIRST.values(), ids=str)
def test_events_do_not_depend_on_the_cuts(stream: Recorded) -> None:
    def read(pieces: Iterable[bytes]) -> list[Event]:
        return [*events_of(read_by(StreamReader(stream.dialect), *pieces))]

    whole = read([stream.body])
    assert whole
    for seed in range(5):
        assert read(random_cuts(stream.body, seed)) == whole


def test_errors_of_a_dialect_for_users_are_for_users() -> None:
    message = {"type": "error", "data": {"message": "Busy.", "error_type": "system"}, "metadata": {}}
    line = json.dumps(message).encode() + b"\n"
    assert [item.for_users for item in items_in(StreamReader("standard"), line) if isinstance(item, Error)]
    (error,) = items_in(StreamReader("legacy"), b'data: {"type":"error","message":"Busy."}\n\n')
    assert isinstance(error, Error)
    assert not error.for_users


class Faulty(Decoder):
    """Returns one event, and raises for the data `break`."""

    def decode(self, frame: Frame) -> Iterator[Event]:
        yield Content(content=frame.text)
        if frame.data == b"break":
            raise RuntimeError("a fault of this decoder")


def test_events_before_a_fault_of_the_decoder_are_returned() -> None:
    reader = StreamReader(Dialect("faulty", Faulty))
    first, second, warning, last = items_of(reader.feed(b"data: a\n\ndata: break\n\ndata: b\n\n"))
    assert [first, second, last] == [Content("a"), Content("break"), Content("b")]
    assert isinstance(warning, Warning)
    assert (reader.faults, reader.malformed) == (1, 1)


def test_texts_before_an_event_over_the_limit_are_returned() -> None:
    reader = StreamReader("legacy", limits=Limits(event_bytes=100))
    for piece in TOKENS[:6]:
        assert [*reader.feed(piece)]
    items = items_of(reader.feed(b"".join(TOKENS[6:]) + b"data: " + b"x" * 200))
    run = next(items)
    assert isinstance(run, TextRun)
    assert run.texts == ["word6 ", "word7 ", "word8 ", "word9 "]
    with pytest.raises(LimitExceeded):
        next(items)


def test_detected_dialect_is_read_from_the_first_byte() -> None:
    reader = StreamReader()
    assert reader.complete is False
    assert [*events_of(read_by(reader, *random_cuts(b"".join(TOKENS), 1)))] == [
        *events_of(read_by(StreamReader("legacy"), *TOKENS))
    ]
    assert reader.dialect is not None
    assert reader.dialect.name == "legacy"
    with pytest.raises(NotTheDialect):
        [*items_in(StreamReader(), b"<html>")]


def test_malformed_events_get_ten_warnings_and_a_count() -> None:
    reader = StreamReader("legacy")
    items = [*items_in(reader, b"data: {\n\n" * 12)]
    assert [type(item) for item in items] == [Warning] * 10
    assert reader.malformed == 12
    assert [warning.message[:2] for warning in reader.closing_warnings()] == ["2 "]
