"""Server-sent events by the WHATWG rules, in whole bodies and cut anywhere."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.errors import LimitExceeded
from streamweir.framing import LONE_COMMENT, Frame, SSEParser, sse, write_sse
from streamweir.testing import cuts

Block = tuple[str | None, bytes, str | None]


def parse(pieces: Iterable[bytes], limit: int = 1 << 20) -> list[Block]:
    parser = SSEParser(limit)
    frames = [frame for piece in pieces for frame in parser.feed(piece)]
    return [(frame.event, frame.data, frame.id) for frame in (*frames, *parser.finish())]


def every_way(body: bytes) -> list[Block]:
    """Return the frames of `body`; check that they do not depend on the cuts."""
    whole = parse([body])
    assert parse(body[i : i + 1] for i in range(len(body))) == whole
    for seed in range(10):
        assert parse(cuts(body, seed=seed)) == whole
    for place in range(len(body)):
        assert parse([body[:place], b"", body[place:]]) == whole
    return whole


def test_printed_json_of_very_many_lines_is_one_frame() -> None:
    lines = [b"{ ", *(b'  "%d": 1,' % number for number in range(3000)), b'  "last": 1', b"}"]
    assert parse([b"data: " + b"\n".join(lines) + b"\n\n"]) == [(None, b"\n".join(lines), None)]


def test_first_line_of_an_event_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def is_bracket(line: bytes) -> bool:
        looked_at.append(len(line))
        return False

    monkeypatch.setattr(sse, "_is_bracket", is_bracket)
    blanks = b" " * 100_000
    assert parse([b"data: ", blanks, b"\n", b"x\n" * 5000, b"\ndata: 1\n\n"])[1:] == [(None, b"1", None)]
    assert looked_at == [len(blanks)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_end_with_lf_cr_or_crlf(end: bytes) -> None:
    body = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert every_way(body) == [("a", b"1", None), (None, b"2", None)]


def test_line_ends_may_be_mixed() -> None:
    assert every_way(b"data: 1\r\n\rdata: 2\n\r\ndata: 3\r\r") == [
        (None, b"1", None),
        (None, b"2", None),
        (None, b"3", None),
    ]


def test_event_that_ends_with_cr_is_returned_before_the_lf() -> None:
    """The LF of a CRLF may arrive much later; the event does not wait for it."""
    parser = SSEParser(100)
    assert [frame.data for frame in parser.feed(b"data: 1\r\n\r")] == [b"1"]
    assert list(parser.feed(b"\n")) == []
    assert [frame.data for frame in parser.feed(b"data: 2\r\n\r\n")] == [b"2"]


def test_one_byte_order_mark_is_skipped() -> None:
    assert every_way(b"\xef\xbb\xbfdata: 1\n\n") == [(None, b"1", None)]
    assert every_way(b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n") == []


def test_half_a_byte_order_mark_gives_no_frame() -> None:
    assert every_way(b"\xef\xbb") == []


def test_comments_are_skipped_and_recognised() -> None:
    parser = SSEParser(100)
    assert list(parser.feed(b": ping\n\n:\n")) == []
    assert parser.recognised
    assert every_way(b": a\ndata: 1\n: b\ndata: 2\n:c\n\n") == [(None, b"1\n2", None)]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"data:x", b"x"),
        (b"data: x", b"x"),
        (b"data:  x", b" x"),
        (b"data:\tx", b"\tx"),
        (b"data: x ", b"x "),
        (b"data:a:b", b"a:b"),
        (b"data:", b""),
        (b"data", b""),
    ],
)
def test_one_space_behind_the_colon_is_removed(line: bytes, value: bytes) -> None:
    assert every_way(line + b"\n\n") == [(None, value, None)]


def test_data_lines_are_joined_with_lf() -> None:
    assert every_way(b"data: a\ndata\ndata:b\n\n") == [(None, b"a\n\nb", None)]


def test_block_with_only_a_name_is_a_frame_without_data() -> None:
    """Not in the specification: legacy servers end a stream with a bare `event: done`."""
    assert every_way(b"event: done\n\n") == [("done", b"", None)]


def test_name_belongs_to_one_event_and_the_last_name_counts() -> None:
    body = b"event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent:\ndata: 3\n\n"
    assert every_way(body) == [("b", b"1", None), (None, b"2", None), (None, b"3", None)]


def test_block_with_only_an_id_gives_no_frame_and_sets_the_id() -> None:
    body = b"id: 7\n\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n"
    assert every_way(body) == [(None, b"1", "7"), (None, b"2", "7"), (None, b"3", None)]


def test_id_with_nul_is_ignored() -> None:
    assert every_way(b"id: 7\nid: 8\0\ndata: 1\n\n") == [(None, b"1", "7")]


def test_retry_and_unknown_fields_are_ignored() -> None:
    body = b"retry: 10\nfoo: bar\n data: no\nDATA: no\nnothing at all\ndata: 1\n\n"
    assert every_way(body) == [(None, b"1", None)]


def test_object_in_an_error_field_is_the_data_of_an_error() -> None:
    body = b'error: {"a": 1}\n\nerror: no\n\ndata: 1\nerror: {}\n\nevent: x\nerror:{}\n\n'
    assert every_way(body) == [("error", b'{"a": 1}', None), (None, b"1", None), ("x", b"{}", None)]


def test_bare_json_object_between_blocks_is_a_frame() -> None:
    assert every_way(b'data: 1\n\n{"a": 1}\n\nmessage:\ndata: 2\n\n') == [
        (None, b"1", None),
        (None, b'{"a": 1}', None),
        (None, b"2", None),
    ]


@pytest.mark.parametrize("body", [b"data: 1", b"data: 1\n", b"data: 1\r", b"data: 1\r\n"])
def test_last_event_without_blank_line_is_a_frame(body: bytes) -> None:
    assert every_way(body) == [(None, b"1", None)]
    parser = SSEParser(100)
    last = [*parser.feed(body), *parser.finish()][-1]
    assert last.unterminated
    assert not parser.cut_off


@pytest.mark.parametrize("rest", [b"d", b"dat", b"event: do", b"id: 1", b": pin", b"<html>"])
def test_body_that_ends_within_a_line_is_cut_off(rest: bytes) -> None:
    parser = SSEParser(100)
    frames = [*parser.feed(b"data: 1\n\n" + rest), *parser.finish()]
    assert [frame.data for frame in frames] == [b"1"]
    assert parser.cut_off


def test_empty_body_gives_no_frame() -> None:
    parser = SSEParser(100)
    assert [*parser.feed(b""), *parser.finish()] == []
    assert not parser.recognised
    assert not parser.cut_off


def outcome(pieces: Iterable[bytes], limit: int) -> tuple[list[bytes], bool]:
    """Return the frames before the limit, and whether the limit is exceeded."""
    parser = SSEParser(limit)
    frames: list[bytes] = []
    try:
        for piece in pieces:
            frames.extend(frame.data for frame in parser.feed(piece))
        frames.extend(frame.data for frame in parser.finish())
    except LimitExceeded:
        return frames, True
    return frames, False


@pytest.mark.parametrize("size", range(90, 110))
@pytest.mark.parametrize(
    "shape",
    [
        b"data: ok\n\ndata: %b\n\n",
        b"data: ok\n\ndata: %b",
        b"data: ok\n\ndata: 1\ndata: %b\ndata: 2\n\n",
        b"data: ok\n\nevent: %b\ndata: 1\n\n",
        b"\xef\xbb\xbfdata: ok\r\n\r\n: %b\r\n",
    ],
)
def test_limit_does_not_depend_on_the_cuts(shape: bytes, size: int) -> None:
    body = shape % (b"x" * size)
    whole = outcome([body], 100)
    assert whole[0][0] == b"ok"
    assert outcome((body[i : i + 1] for i in range(len(body))), 100) == whole
    for seed in range(5):
        assert outcome(cuts(body, seed=seed), 100) == whole


def test_line_without_end_raises_at_the_limit() -> None:
    parser = SSEParser(1000)
    for _ in range(1000):
        assert list(parser.feed(b"x")) == []
    with pytest.raises(LimitExceeded):
        list(parser.feed(b"x"))


@given(st.binary(max_size=200), st.integers(0, 100))
def test_frames_of_any_bytes_do_not_depend_on_the_cuts(body: bytes, seed: int) -> None:
    assert outcome(cuts(body, seed=seed), 50) == outcome([body], 50)


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")),
    st.sampled_from([b"data: ", b"data:"]),
)
def test_written_frame_is_read_back_equal(text: str, prefix: bytes) -> None:
    if prefix == b"data:" and (text.startswith(" ") or "\n " in text):
        return  # without a space of its own, a value's first one is taken for it
    frame = Frame(text.encode(), "name", "7")
    written = write_sse(frame, prefix=prefix) + LONE_COMMENT
    assert every_way_once(written) == [("name", frame.data, "7")]


def every_way_once(body: bytes) -> list[Block]:
    whole = parse([body])
    assert parse(cuts(body)) == whole
    return whole
