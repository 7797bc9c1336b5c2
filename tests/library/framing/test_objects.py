"""JSON objects that follow each other, and JSON over several lines behind one `data:`."""

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamweir.errors import LimitExceeded
from streamweir.framing.objects import ObjectsParser
from streamweir.framing.sse import SSEParser
from streamweir.testing import cuts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=5)


def parse(parser: ObjectsParser | SSEParser, pieces: Iterable[bytes]) -> list[bytes]:
    frames = [frame.data for piece in pieces for frame in parser.feed(piece)]
    return [*frames, *(frame.data for frame in parser.finish())]


@given(OBJECTS, st.sampled_from([None, 2]), st.sampled_from(["", "\n", " \r\n"]), st.integers(0, 100))
def test_parser_returns_each_object_as_a_frame_however_it_is_cut(
    objects: list[Any], indent: int | None, between: str, seed: int
) -> None:
    body = between.join(json.dumps(value, indent=indent) for value in objects).encode()
    frames = parse(ObjectsParser(1 << 20), cuts(body, seed=seed))
    assert [json.loads(frame) for frame in frames] == objects
    assert parse(ObjectsParser(1 << 20), (body[i : i + 1] for i in range(len(body)))) == frames


@given(st.binary(max_size=200), st.integers(0, 100))
@example(b"\x0b\x00", 2)
def test_frames_of_any_bytes_do_not_depend_on_the_cuts(body: bytes, seed: int) -> None:
    def outcome(pieces: Iterable[bytes]) -> tuple[list[bytes], bool]:
        parser = ObjectsParser(50)
        frames: list[bytes] = []
        try:
            for piece in pieces:
                frames.extend(frame.data for frame in parser.feed(piece))
            frames.extend(frame.data for frame in parser.finish())
        except LimitExceeded:
            return frames, True
        return frames, False

    assert outcome(cuts(body, seed=seed)) == outcome([body])


def test_object_is_returned_as_soon_as_it_is_closed() -> None:
    parser = ObjectsParser(100)
    assert [frame.data for frame in parser.feed(b'{\n  "a": "}"\n}')] == [b'{\n  "a": "}"\n}']
    assert [frame.data for frame in parser.feed(b'{"b"')] == []
    assert [frame.unterminated for frame in parser.finish()] == [True]


def test_broken_object_ends_with_its_line() -> None:
    assert parse(ObjectsParser(100), [b'{"a": "x\n{"b": 1}\nBad gateway\n{"c": 2}']) == [
        b'{"a": "x',
        b'{"b": 1}',
        b"Bad gateway",
        b'{"c": 2}',
    ]


def test_object_over_the_limit_raises() -> None:
    with pytest.raises(LimitExceeded):
        parse(ObjectsParser(100), [b'{"a": "', b"x" * 200])


def test_blanks_and_long_lines_take_time_in_proportion() -> None:
    parser = ObjectsParser(1000)
    for _ in range(100_000):
        assert not [*parser.feed(b"\n ")]
    assert parse(parser, [b"{}"]) == [b"{}"]
    parser, began = ObjectsParser(1 << 20), time.process_time()
    for _ in range(100_000):
        assert not [*parser.feed(b"xxxxxxxxx ")]
    assert time.process_time() - began < 5


@given(OBJECTS, st.integers(0, 100))
def test_json_over_several_lines_behind_one_data_field_is_one_frame(objects: list[Any], seed: int) -> None:
    events = [b"event: a\ndata: %b\n\n" % json.dumps(value, indent=2).encode() for value in objects]
    for pieces in (cuts(b"".join(events), seed=seed), events):
        assert [json.loads(frame) for frame in parse(SSEParser(1 << 20), pieces)] == objects


def test_other_lines_behind_a_data_field_are_skipped() -> None:
    assert parse(SSEParser(100), [b"data: {}\n  x\n}\n\ndata: a\n}\n\n"]) == [b"{}", b"a"]
