"""The parser of responses: what it says must not depend on how the network cuts the bytes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import for_each
from scripted_upstream import CLOSE_DELIMITED, LAST_CHUNK, SSE, answer, chunk
from streamweir_gateway.upstream.http1 import ResponseParser, coding_list

HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
RESPONSES = [
    answer(b"hello"),
    HINTS + HINTS + answer(b"hello"),
    SSE + chunk(b"one") + chunk(b"two") + LAST_CHUNK,
    SSE + b"3;x=y\r\none\r\n0\r\nX-Trailer: x\r\n\r\n",
    SSE + chunk(b"one") + b"zz\r\n",
    SSE + chunk(b"one") + b"5\r\nab",
    CLOSE_DELIMITED + b"hello",
    answer(b"hello") + answer(b"surplus"),
    answer(b"hello", "Connection: close") + b"surplus",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 140_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Le",
    b"no HTTP",
]


def outcome(pieces: list[bytes]) -> tuple[object, ...]:
    parser = ResponseParser()
    body = b"".join([parser.feed(piece) for piece in pieces if parser.failure is None])
    is_whole, may_be_reused = parser.is_complete, parser.may_be_reused
    parser.end(None)
    return parser.status, parser.headers, body, is_whole, may_be_reused, type(parser.failure)


@given(response=st.sampled_from(RESPONSES), cuts=st.lists(st.integers(0, 400), max_size=20))
def test_http1_parser_given_any_cuts_returns_the_same(response: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(response)) for cut in cuts), len(response)]
    pieces = [response[start:end] for start, end in pairwise(edges)]
    assert outcome([piece for piece in pieces if piece]) == outcome([response])


WHOLE = [
    answer(b"hello"),
    answer(b"12345"),
    answer(b"hello", "X-Same: 1"),
    answer(b""),
    answer(b"HTTP/1.1 200 OK\r\n\r\n"),
    SSE + chunk(b"one") + LAST_CHUNK,
    LAST_CHUNK,
    b"HTTP/1.1 200 OK\nContent-Length: 9\n\na\r\n\r\nbcde",
    b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4\r\n\r\n\r\n\r\n" + LAST_CHUNK,
    SSE.replace(b"200 OK", b"404 No") + chunk(b"one") + LAST_CHUNK,
    SSE.replace(b"200 OK", b"500 No") + chunk(b"one") + LAST_CHUNK,
    *(
        SSE.replace(b"\r\n\r\n", b"\r\n%b\r\n\r\n" % lines) + chunk(b"one") + LAST_CHUNK
        for lines in (
            b"Connection: close",
            b"proxy-connection: close",
            b"CONNECTION: Keep-Alive, x",
            b"Connection: Upgrade\r\nUpgrade: h2c",
            b"Content-Length: 3",
        )
    ),
    HINTS + SSE + chunk(b"one") + LAST_CHUNK,
    *RESPONSES,
]


@given(st.lists(st.tuples(st.sampled_from(WHOLE), st.integers(0, 60), st.booleans()), min_size=2, max_size=8))
def test_parser_with_a_repeated_head_gives_the_same_response(
    responses: list[tuple[bytes, int, bool]],
) -> None:
    kept = ResponseParser()  # reset after each response that leaves its connection open
    for response, cut, is_head in responses:
        outcomes = []
        for parser in (ResponseParser(), kept):
            parser.is_head = is_head
            body = b"".join([parser.feed(piece) for piece in (response[:cut], response[cut:]) if piece])
            is_whole, may_be_reused = parser.is_complete, parser.may_be_reused
            if not may_be_reused:
                parser.end(None)
            outcomes.append(
                (parser.status, parser.headers, body, is_whole, may_be_reused, type(parser.failure))
            )
        assert outcomes[0] == outcomes[1]
        known = kept.stream_head or kept.repeated
        if may_be_reused:
            kept.reset()
        else:
            kept = ResponseParser(known)


def test_parser_with_the_head_of_a_stream_takes_it() -> None:
    first = ResponseParser()
    assert first.feed(SSE + chunk(b"one")) == b"one"
    second = ResponseParser(first.stream_head)
    assert second.feed(SSE + chunk(b"two")) == b"two"
    assert second.feed(LAST_CHUNK) == b""
    assert second.is_complete
    assert second.may_be_reused
    assert second.fields is first.fields
    assert first.headers == second.headers
    assert first.headers is not second.headers


def test_parser_with_a_repeated_head_does_not_parse_it() -> None:
    first = ResponseParser()
    first.feed(answer(b"hello"))
    second = ResponseParser(first.repeated)
    assert second.feed(answer(b"12345")) == b"12345"
    assert first.repeated is second.repeated is not None
    assert first.headers == second.headers
    assert first.headers is not second.headers


@given(junk=st.binary(max_size=300), beginning=st.sampled_from([b"", *(r[:60] for r in RESPONSES)]))
def test_parser_never_raises(junk: bytes, beginning: bytes) -> None:
    parser = ResponseParser()
    for piece in (beginning, junk, junk):
        parser.feed(piece)
    parser.end(None)
    assert parser.is_complete or parser.failure is not None


@pytest.mark.parametrize(
    ("headers", "codings"),
    [
        ([], []),
        ([(b"X-Coding", b"gzip")], []),
        ([(b"CODING", b" GZip ,, chunked ")], ["gzip", "chunked"]),
        ([(b"coding", b"gzip"), (b"Coding", b"br")], ["gzip", "br"]),
    ],
)
def test_coding_list_joins_all_header_lines(headers: list[tuple[bytes, bytes]], codings: list[str]) -> None:
    assert coding_list(headers, b"coding") == codings


FORBIDDEN_TRAILERS = [
    *(b"Content-Length: 5", b"Content-Length: x", b"Content-Length: 5\r\nContent-Length: 6"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Host: x", b"Connection: upgrade"),
    *(b"Upgrade: h2c", b"Trailer: x", b"Content-Type: x/y", b"Set-Cookie: a=b", b"X: a\x01b", b"X-Ok: 1"),
    *(b"no colon", b": no name", b" folded: x", b"X\x00: y", b"a b: c"),
]


@for_each("trailer", FORBIDDEN_TRAILERS)
def test_parser_with_a_bad_trailer_completes_the_body(trailer: bytes) -> None:
    """RFC 9110, section 6.5.1: a recipient ignores the trailers that may not be there."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    response = head + b"5\r\nhello\r\n7\r\n\r\n0\r\n\r\n\r\n0\r\n" + trailer + b"\r\n\r\n"
    for pieces in ([response], [response[at : at + 1] for at in range(len(response))]):
        parser = ResponseParser()
        body = b"".join([parser.feed(piece) for piece in pieces])
        parser.end(None)
        assert (body, parser.is_complete, parser.failure) == (b"hello\r\n0\r\n\r\n", True, None)
        assert [name for name, _ in parser.headers] == [b"Transfer-Encoding"]


@for_each("rest", [b"5\r\nhelloX", b"zz\r\n", b"5\r\nhel", b"5\r\n0\r\n\r\n\r\nzz: 1\r\n\r\n"])
def test_parser_with_half_a_body_fails(rest: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    for pieces in ([head + rest], [bytes([byte]) for byte in head + rest]):
        parser = ResponseParser()
        for piece in pieces:
            parser.feed(piece)
        parser.end(None)
        assert not parser.is_complete
        assert parser.failure is not None
