"""Requests out of bytes, wherever these are cut."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple, get_args

import pytest
from httptools import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from scripted_upstream import LAST_CHUNK, chunk
from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.request_parser import RequestHead, RequestParser, RequestRefused
from streamweir_gateway.connection.request_state import TRANSITIONS, RequestState

LIMITS = RequestLimits(header_bytes=4096, header_time=10)


class Sent(NamedTuple):
    """A request, and how its body is sent."""

    method: str
    target: bytes
    body: bytes
    chunks: Sequence[int] | None

    def encoded(self) -> bytes:
        head = b"%s %s HTTP/1.1\r\nHost: x\r\n" % (self.method.encode(), self.target)
        if self.chunks is None:
            return head + b"Content-Length: %d\r\n\r\n%s" % (len(self.body), self.body)
        places = sorted({0, len(self.body), *(place % (len(self.body) + 1) for place in self.chunks)})
        pieces = [self.body[start:end] for start, end in pairwise(places)]
        return b"".join([head, b"Transfer-Encoding: chunked\r\n\r\n", *map(chunk, pieces), LAST_CHUNK])


class Received:
    """Takes requests and keeps them."""

    def __init__(self) -> None:
        self.heads: list[RequestHead] = []
        self.bodies: list[bytes] = []
        self.early = b""
        self.ended = 0

    def takes_another(self) -> bool:
        return True

    def on_request(self, head: RequestHead) -> None:
        self.heads.append(head)
        self.bodies.append(b"")

    def on_body(self, piece: bytes) -> None:
        self.bodies[-1] += piece

    def on_early_bytes(self, data: bytes) -> None:
        self.early += data

    def on_request_end(self) -> None:
        self.ended += 1

    def on_whole_request(self, head: RequestHead, body: bytes) -> None:
        self.on_request(head)
        self.on_body(body)
        self.on_request_end()


REQUESTS = st.lists(
    st.builds(
        Sent,
        st.sampled_from(["GET", "POST", "PUT", "DELETE"]),
        st.sampled_from([b"/", b"/chat", b"/chat?a=b&c=%20", b"/" + b"x" * 2000]),
        st.binary(max_size=3000),
        st.none() | st.lists(st.integers(0, 3000), max_size=50),
    ),
    min_size=1,
    max_size=4,
)


def fed(pieces: Sequence[bytes]) -> tuple[Received, RequestParser]:
    received = Received()
    parser = RequestParser(received, LIMITS)
    for piece in pieces:
        parser.feed(piece)
    return received, parser


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    where = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(where)]


@given(REQUESTS, st.lists(st.integers(0, 20_000), max_size=30))
def test_requests_come_out_as_they_went_in_wherever_they_are_cut(
    requests: list[Sent], places: list[int]
) -> None:
    received, parser = fed(cut(b"".join(request.encoded() for request in requests), places))
    assert [(head.method, head.target) for head in received.heads] == [
        (request.method, request.target) for request in requests
    ]
    assert received.bodies == [request.body for request in requests]
    assert received.ended == len(requests)
    assert parser.state == "whole"
    assert parser.body_bytes == 0, "the next head would get the time of this body"


BLOCKS = [
    b"Host: x\r\nCookie: a=b\r\n\r\n",
    b"Host: x\r\ncookie:  a=b \r\nX-Two: 1\r\nX-Two: 2\r\n\r\n",
    b"Host: x\r\nConnection: close\r\n\r\n",
    b"Host: x\r\nContent-Length: 0\r\n\r\n",
    b"Host: x\r\nContent-Length: 2\r\n\r\n{}",
    b"Host: x\r\nContent-Length: 12\r\n\r\n{}\r\n\r\n123456",
    b"Host: x\r\nContent-Length: 12\r\n\r\n{}",
    b"Host: x\r\nContent-Length: 2\r\n\r\n{}{}",
    b"Host: x\r\nContent-Length: +2\r\n\r\n{}",
    b"Host: x\r\ncontent-length: 0002\r\nX-Two: 2\r\n\r\n{}",
    b"Host: x\r\ncontent-length: 13\r\nX-Two: 2\r\n\r\n\r\nX-Two: 2\r\n\r\n",
    b"Host: x\r\ncontent-length: 18\r\nX-Two: 2\n\ncontent-length: 2\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 2\r\nHost: x\r\n\r\n{}",
    b"Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    b"Host: x\r\nContent-Length: 2\r\nTraceparent: 1\r\n\r\n{}",
    b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Host: x\r\nExpect: 100-continue\r\n\r\n",
    b"Host: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    b"Host: x\n\r\n",
    b"Host: x\r\nHost: y\r\n\r\n",
    b"Cookie: a=b\r\n\r\n",
    b"Host: x\r\nX-Long: " + b"y" * 4040 + b"\r\n\r\n",
]
"""What may stand behind a request line."""

REQUEST_LINES = [
    b"GET / HTTP/1.1\r\n",
    b"GET /a%2Fb?c=d&e HTTP/1.1\r\n",
    b"POST /a HTTP/1.1\r\n",
    b"DELETE /a HTTP/1.1\r\n",
    b"OPTIONS * HTTP/1.1\r\n",
    b"FROB /a HTTP/1.1\r\n",
    b"CONNECT a:1 HTTP/1.1\r\n",
    b"GET /a#b HTTP/1.1\r\n",
    b"GET /\xc3\xa9 HTTP/1.1\r\n",
    b"GET http://y/a HTTP/1.1\r\n",
    b"GET /a HTTP/1.0\r\n",
    b"GET /a HTTP/2.0\r\n",
    b"GET  /a HTTP/1.1\r\n",
    b"GET /a b HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\n",
    b"\r\nGET /a HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\r\nX: GET /a HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\r\n\r\n",
    b"GET /" + b"a" * 4050 + b" HTTP/1.1\r\n",
    b"",
]


class Read(NamedTuple):
    """What a parser made of one read."""

    heads: list[tuple[str, bytes, str, list[tuple[bytes, bytes]], bool]]
    bodies: list[bytes]
    ended: int
    state: RequestState | str


def read(parser: RequestParser, received: Received, data: bytes) -> Read:
    """Feed one read to a parser that is idle."""
    received.__init__()  # type: ignore[misc]
    outcome: RequestState | str
    try:
        parser.feed(data)
        outcome = parser.state
    except RequestRefused as refused:
        outcome = refused.code
    return Read([astuple(head)[:5] for head in received.heads], received.bodies, received.ended, outcome)


@given(
    st.lists(
        st.tuples(st.sampled_from(REQUEST_LINES), st.sampled_from(BLOCKS)).map(b"".join)
        | st.sampled_from(BLOCKS).map(REQUEST_LINES[0].__add__),
        min_size=2,
        max_size=8,
    )
)
def test_headers_that_come_again_are_those_of_a_request_that_comes_first(requests: list[bytes]) -> None:
    received = Received()
    parser = RequestParser(received, LIMITS)
    for request in requests:
        again = read(parser, received, request)
        first = Received()
        assert again == read(RequestParser(first, LIMITS), first, request)
        if again.state != "whole" or not all(head[4] for head in again.heads):
            return  # the connection ends
        parser.answered()


def test_headers_that_come_again_are_not_parsed() -> None:
    received, parser = fed([REQUEST_LINES[0] + BLOCKS[0]])
    parser.answered()
    parser.feed(REQUEST_LINES[1] + BLOCKS[0])
    first, second = received.heads
    assert first.repeated is second.repeated is not None
    assert first.headers == second.headers
    assert first.headers is not second.headers  # whoever gets them may change them


class CountingParser(RequestParser):
    """Counts the requests that are parsed."""

    parsed = 0

    def _new_parser(self) -> HttpRequestParser:
        self.parsed += 1
        return super()._new_parser()


LENGTH_BLOCKS = [block for block in BLOCKS if b"ontent-" in block]


@given(
    st.lists(
        st.tuples(st.sampled_from(REQUEST_LINES[:4]), st.sampled_from(LENGTH_BLOCKS))
        | st.sampled_from(LENGTH_BLOCKS).map(lambda block: (REQUEST_LINES[0], block)),
        min_size=3,
        max_size=8,
    )
)
def test_bodies_behind_headers_that_come_again_are_those_of_requests_that_come_first(
    requests: list[tuple[bytes, bytes]],
) -> None:
    received = Received()
    parser = RequestParser(received, LIMITS)
    for line, block in requests:
        again = read(parser, received, line + block)
        first = Received()
        assert again == read(RequestParser(first, LIMITS), first, line + block)
        if again.state != "whole" or not all(head[4] for head in again.heads):
            return  # the connection ends
        parser.answered()


@given(st.lists(st.binary(max_size=300), min_size=3, max_size=6), st.booleans())
def test_request_with_known_headers_and_another_length_is_not_parsed(
    bodies: list[bytes], is_last: bool
) -> None:
    received = Received()
    parser = CountingParser(received, LIMITS)
    others = b"" if is_last else b"X-Two: 2\r\n"
    for body in bodies:
        request = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n%b"
        parser.feed(request % (len(body), others, body))
        parser.answered()
    assert parser.parsed == 2  # the second one has shown that the headers come again
    assert received.bodies == bodies
    assert received.ended == len(bodies)
    assert [dict(head.headers)[b"content-length"] for head in received.heads] == [
        b"%d" % len(body) for body in bodies
    ]


LINES = {
    b"FROB /a?b HTTP/1.1": ("FROB", b"/a?b", b"x"),
    b"get / HTTP/1.1": ("get", b"/", b"x"),
    b"\r\nVERSION-CONTROL / HTTP/1.1": ("VERSION-CONTROL", b"/", b"x"),
    "GET /caf\u00e9?q=\u00e9 HTTP/1.1".encode(): ("GET", b"/caf%C3%A9?q=%C3%A9", b"x"),
    b"FROB /\xff HTTP/1.1": ("FROB", b"/%FF", b"x"),
    b"GET http://Shop.example:8080/a?b HTTP/1.1": ("GET", b"/a?b", b"Shop.example:8080"),
    b"GET HTTPS://[::1]?b HTTP/1.1": ("GET", b"/?b", b"[::1]"),
    b"GET http://y HTTP/1.1": ("GET", b"/", b"y"),
}


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("upgrade", [b"", b"Connection: upgrade\r\nUpgrade: h2c\r\n"])
@pytest.mark.parametrize("line", LINES)
def test_request_that_llhttp_pauses_at_is_complete(line: bytes, upgrade: bytes, size: int) -> None:
    sent = line + b"\r\nHost: x\r\n%bContent-Length: 2\r\n\r\n{}" % upgrade
    received, parser = fed([sent[at : at + size] for at in range(0, len(sent), size)])
    (head,) = received.heads
    assert (head.method, head.target, dict(head.headers)[b"host"]) == LINES[line]
    assert received.bodies == [b"{}"]
    parser.answered()
    parser.feed(b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert received.heads[1].method == "DELETE"


@given(
    st.lists(st.binary(max_size=200) | st.sampled_from([b"POST / HTTP/1.1\r\nHost: x\r\n", b"\r\n", b"0"]))
)
def test_any_bytes_are_refused_or_taken(pieces: list[bytes]) -> None:
    with suppress(RequestRefused):
        received, _ = fed(pieces)
        assert received.ended <= len(received.heads)


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("size", [1, 700, 1_000_000], ids=["bytewise", "in pieces", "in one read"])
@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"2;" + b"x" * 6000 + b"\r\n{}\r\n" + LAST_CHUNK,
        CHUNKED + chunk(b"{}") + b"0\r\nX-Trailer: " + b"x" * 6000 + b"\r\n\r\n",
        CHUNKED + b"".join(b"1;%s\r\nx\r\n" % (b"y" * 100) for _ in range(60)) + LAST_CHUNK,
        CHUNKED + chunk(b"{}") + b"0\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
    ],
    ids=["an extension", "a trailer", "many extensions", "many trailers", "headers"],
)
def test_head_and_framing_are_bounded_for_each_cut(sent: bytes, size: int) -> None:
    with pytest.raises(RequestRefused) as refused:
        fed([sent[at : at + size] for at in range(0, len(sent), size)])
    assert refused.value.code == "REQUEST_TOO_LARGE"


@pytest.mark.parametrize("size", [1, 700, 1_000_000], ids=["bytewise", "in pieces", "in one read"])
def test_small_chunks_are_no_headers(size: int) -> None:
    sent = CHUNKED + chunk(b"x") * 20_000 + LAST_CHUNK
    received, _ = fed([sent[at : at + size] for at in range(0, len(sent), size)])
    assert received.bodies == [b"x" * 20_000]


def test_parser_can_be_stopped_in_each_state() -> None:
    reached = {state for following in TRANSITIONS.values() for state in following.values()}
    assert set(TRANSITIONS) == reached == set(get_args(RequestState))
    assert all(following["stop"] == "stopped" for following in TRANSITIONS.values())
