"""NDJSON, a JSON document, and the detection of the framing of a body."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.errors import LimitExceeded, NotTheDialect
from streamweir.framing import DocumentParser, Frame, NDJSONParser, SniffingParser, write_ndjson
from streamweir.testing import cuts

Parser = NDJSONParser | SniffingParser | DocumentParser


def parse(parser: Parser, pieces: Iterable[bytes]) -> list[bytes]:
    frames = [frame.data for piece in pieces for frame in parser.feed(piece)]
    return [*frames, *(frame.data for frame in parser.finish())]


def every_way(body: bytes, limit: int = 1 << 20) -> list[bytes]:
    whole = parse(NDJSONParser(limit), [body])
    assert parse(NDJSONParser(limit), (body[i : i + 1] for i in range(len(body)))) == whole
    for seed in range(10):
        assert parse(NDJSONParser(limit), cuts(body, seed=seed)) == whole
    return whole


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_parser_returns_one_frame_per_line(end: bytes) -> None:
    assert every_way(b'{"a":1}' + end + b'{"b":2}' + end) == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c"])
def test_line_with_unicode_separators_is_one_frame(separator: str) -> None:
    line = f'{{"text":"a{separator}b"}}'.encode()
    assert every_way(line + b"\n" + line) == [line, line]


def test_last_line_without_line_end_is_a_frame() -> None:
    parser = NDJSONParser(100)
    frames = [*parser.feed(b'{"a":1}\n{"b"'), *parser.finish()]
    assert [frame.data for frame in frames] == [b'{"a":1}', b'{"b"']
    assert [frame.unterminated for frame in frames] == [False, True]


def test_parser_skips_blank_lines_comments_and_a_byte_order_mark() -> None:
    assert every_way(b"\xef\xbb\xbf \n\r\n: ping\n{}\n\n \t\n[]\n") == [b"{}", b"[]"]


def test_line_with_data_prefix_is_read_without_it() -> None:
    assert every_way(b'data: {"a":1}\n\ndata:{"b":2}\n\n') == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("body", [b'{\n  "a": {\n    "b": 1\n  }\n}\n', b'\n[\n  {},\n  {"a": 1}\n]'])
def test_pretty_printed_document_is_one_frame(body: bytes) -> None:
    assert every_way(body) == [body.strip()]


def test_lone_bracket_behind_a_frame_begins_no_document() -> None:
    assert every_way(b'{"a":1}\n{\n}\n') == [b'{"a":1}', b"{", b"}"]


def test_document_with_any_line_ends_does_not_depend_on_the_cuts() -> None:
    body = b'{\r\n  "a": "b\r\n\rc"\r\n}\r\n'
    (whole,) = every_way(body)
    assert parse(NDJSONParser(100), [body[:9], body[9:]]) == [whole]


def outcome(parser: Parser, pieces: Iterable[bytes]) -> tuple[list[bytes], type[Exception] | None]:
    frames: list[bytes] = []
    try:
        for piece in pieces:
            frames.extend(frame.data for frame in parser.feed(piece))
        frames.extend(frame.data for frame in parser.finish())
    except (LimitExceeded, NotTheDialect) as error:
        return frames, type(error)
    return frames, None


@pytest.mark.parametrize("size", range(95, 105))
@pytest.mark.parametrize("shape", [b"[1]\n%b\n[2]\n", b"[1]\n%b", b"{\n%b\n}\n"])
def test_limit_does_not_depend_on_the_cuts(shape: bytes, size: int) -> None:
    body = shape % (b"x" * size)
    whole = outcome(NDJSONParser(100), [body])
    assert outcome(NDJSONParser(100), (body[i : i + 1] for i in range(len(body)))) == whole
    for seed in range(5):
        assert outcome(NDJSONParser(100), cuts(body, seed=seed)) == whole


def test_document_parser_returns_any_document_as_one_frame() -> None:
    assert parse(DocumentParser(100), [b"\xef\xbb\xbf \n{\n", b'"a": 1}', b"\n"]) == [b'{\n"a": 1}']
    assert parse(DocumentParser(100), [b" \n"]) == []
    assert outcome(DocumentParser(10), [b"x" * 5, b"x" * 6]) == ([], LimitExceeded)


@pytest.mark.parametrize(
    ("body", "frames"),
    [
        (b'data: {"a":1}\n\n', [b'{"a":1}']),
        (b": ping\n\ndata: 1\n\n", [b"1"]),
        (b"event: done\n\n", [b""]),
        (b'{"a":1}\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b"\xef\xbb\xbf\r\n\n  [1]\n", [b"[1]"]),
        (b"\xef\xbb\xbf\n\ndata: 1\n\n", [b"1"]),
        (b"", []),
        (b"\n\n\xef\xbb", []),
    ],
)
@pytest.mark.parametrize("expected", ["sse", "ndjson", "auto"])
def test_sniffing_parser_finds_the_framing_of_a_body(body: bytes, frames: list[bytes], expected: str) -> None:
    for pieces in ([body], [body[i : i + 1] for i in range(len(body))], cuts(body)):
        assert parse(SniffingParser(100, expected=expected), pieces) == frames


def test_sniffing_parser_with_undecided_text_takes_the_expected_framing() -> None:
    assert parse(SniffingParser(100, expected="ndjson"), [b'0:"Hi"\n']) == [b'0:"Hi"']
    assert parse(SniffingParser(100, expected="sse"), [b"Bad gateway\n\n"]) == []


def test_sniffing_parser_with_markup_raises() -> None:
    for pieces in ([b"\n <html>"], [b"\n", b" ", b"<", b"html>"]):
        assert outcome(SniffingParser(100), pieces) == ([], NotTheDialect)


def test_sniffing_parser_with_endless_white_space_keeps_nothing() -> None:
    parser = SniffingParser(1000)
    for _ in range(100_000):
        list(parser.feed(b"\n"))
    assert parser.blank
    assert parse(parser, [b"data: 1\n\n"]) == [b"1"]


@given(st.binary(max_size=200), st.integers(0, 100), st.sampled_from(["sse", "ndjson"]))
def test_frames_of_any_bytes_do_not_depend_on_the_cuts(body: bytes, seed: int, expected: str) -> None:
    whole = outcome(SniffingParser(50, expected=expected), [body])
    assert outcome(SniffingParser(50, expected=expected), cuts(body, seed=seed)) == whole


def test_written_frame_is_read_back_equal() -> None:
    assert every_way(write_ndjson(Frame(b'{"a":1}'))) == [b'{"a":1}']


@pytest.mark.parametrize("size", [1, 7, 1000, 4095, 4096, 4097, 70_000])
def test_line_that_arrives_in_pieces_of_any_size_is_whole(size: int) -> None:
    line = b'{"text":"%b"}' % b"".join(b"%d " % number for number in range(20_000))
    body = b"[1]\n%b\n[2]\n%b" % (line, line)
    for keeps_raw in (False, True):
        parser = NDJSONParser(1 << 20, keeps_raw)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert outcome(parser, pieces) == ([b"[1]", line, b"[2]", line], None)
