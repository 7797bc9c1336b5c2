"""The parser of responses: what it says must not depend on how the network cuts the bytes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n",
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
def test_cuts_change_nothing(response: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(response)) for cut in cuts), len(response)]
    pieces = [response[start:end] for start, end in pairwise(edges)]
    assert outcome([piece for piece in pieces if piece]) == outcome([response])


@given(junk=st.binary(max_size=300), beginning=st.sampled_from([b"", *(r[:60] for r in RESPONSES)]))
def test_no_bytes_make_it_raise(junk: bytes, beginning: bytes) -> None:
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
def test_coding_lists(headers: list[tuple[bytes, bytes]], codings: list[str]) -> None:
    assert coding_list(headers, b"coding") == codings
