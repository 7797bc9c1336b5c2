"""Responses as bytes, read back by another implementation of HTTP."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir_gateway.connection.response_encoder import ResponseEncoder
from streamweir_gateway.connection.stream_headers import headers_of_stream

PIECES = st.lists(st.binary(max_size=300), min_size=1, max_size=6)


def encoded(
    encoder: ResponseEncoder, pieces: list[bytes], *headers: tuple[bytes, bytes], status: int = 200
) -> bytes:
    sent = encoder.start(status, headers, date=b"date: today\r\n", keep_alive=True)
    *others, last = pieces
    return b"".join(
        [sent, *(encoder.body(piece, more=True) for piece in others), encoder.body(last, more=False)]
    )


def read(method: str, data: bytes) -> tuple[h11.Response, bytes]:
    """The only response in `data`, and its body, as a client gets it that sees the connection end."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    client.receive_data(b"")
    response, body = client.next_event(), b""
    assert isinstance(response, h11.Response)
    while isinstance(event := client.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    return response, body


@given(PIECES, st.sampled_from(["GET", "POST", "HEAD"]), st.sampled_from(["1.0", "1.1"]), st.booleans())
def test_encoded_response_is_read_back_by_a_client(
    pieces: list[bytes], method: str, version: str, counts: bool
) -> None:
    body = b"".join(pieces)
    length = [(b"content-length", b"%d" % len(body))] if counts else []
    encoder = ResponseEncoder(method, version)
    response, got = read(method, encoded(encoder, pieces, (b"x-odd", b"y"), *length))
    assert got == (b"" if method == "HEAD" else body)
    assert (b"x-odd", b"y") in response.headers
    assert version == "1.1" or b"transfer-encoding" not in dict(response.headers)
    assert encoder.state == "complete"


NAMES = [b"x-request-id", b"content-type", b"date", b"connection", b"vary", b"content-length"]
VALUES = [b"req_1", b"req_2", b"close", b"7", b"caf\xe9", b""]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=4).filter(
            lambda pairs: all(name != b"content-length" or value == b"7" for name, value in pairs)
        ),
        min_size=2,
        max_size=6,
    )
)
def test_headers_that_come_again_are_written_like_those_that_come_first(
    responses: list[list[tuple[bytes, bytes]]],
) -> None:
    for pairs in [*responses, *responses]:
        encoder = ResponseEncoder("GET", "1.1")
        head = encoder.start(200, pairs, date=b"date: today\r\n", keep_alive=True)
        fields = dict(pairs)
        expected = [] if b"date" in fields else [b"date: today"]
        expected += [b"%b: %b" % pair for pair in pairs]
        expected += [] if b"content-length" in fields else [b"transfer-encoding: chunked"]
        assert head == b"\r\n".join([b"HTTP/1.1 200 OK", *expected, b"", b""])
        assert encoder.keep_alive is (fields.get(b"connection") != b"close")


@given(
    st.sampled_from(["text/event-stream; charset=utf-8", "application/json", "application/x-ndjson"]),
    st.text("abz09AZ._:-/ ", min_size=1, max_size=40),
    st.sampled_from([b"", b"text/event-stream", b"application/json;charset=UTF-8"]),
)
def test_headers_of_a_stream_are_written_like_any_others(
    media_type: str, request_id: str, content_type: bytes
) -> None:
    for _ in range(2):
        headers = headers_of_stream(media_type, request_id, content_type)
        fields = dict(headers)
        assert len(fields) == len(headers)
        assert fields[b"x-request-id"] == request_id.encode()
        assert fields[b"content-type"] == (content_type or media_type.encode())
        heads = [
            ResponseEncoder("GET", "1.1").start(200, pairs, date=b"date: today\r\n", keep_alive=True)
            for pairs in (headers, [*headers])
        ]
        assert heads[0] == heads[1]


def test_request_id_with_a_line_end_is_refused() -> None:
    for _ in range(2):
        headers = headers_of_stream("text/event-stream", "a\r\nb: c")
        with pytest.raises(RuntimeError):
            ResponseEncoder("GET", "1.1").start(200, headers, date=b"", keep_alive=True)


@pytest.mark.parametrize("status", [204, 304])
def test_status_without_a_body_has_an_empty_body(status: int) -> None:
    _, body = read("GET", encoded(ResponseEncoder("GET", "1.1"), [b"unseen"], status=status))
    assert body == b""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x", b"a\r\nset-cookie: b"),
        (b"x", b"a\nb"),
        (b"x", b"a\0"),
        (b"x y", b"a"),
        (b"x\r\ny", b"a"),
        (b"x:", b"a"),
        (b"", b"a"),
        (b"x", b"\r\ny: z"),
    ],
)
def test_header_with_a_line_end_is_refused(name: bytes, value: bytes) -> None:
    encoder = ResponseEncoder("GET", "1.1")
    with pytest.raises(RuntimeError):
        encoder.start(200, [(name, value)], date=b"", keep_alive=True)
    assert encoder.state == "expected", "an error can still be answered"


@pytest.mark.parametrize("pieces", [[b"12", b"345"], [b"123"]], ids=["longer", "shorter"])
def test_body_of_another_length_than_announced_is_refused(pieces: list[bytes]) -> None:
    with pytest.raises(RuntimeError, match="Content-Length"):
        encoded(ResponseEncoder("GET", "1.1"), pieces, (b"content-length", b"4"))


def test_encoder_raises_on_a_second_start_or_end() -> None:
    encoder = ResponseEncoder("GET", "1.1")
    with pytest.raises(RuntimeError):
        encoder.body(b"", more=True)
    encoded(encoder, [b""])
    with pytest.raises(RuntimeError):
        encoder.body(b"", more=False)
    with pytest.raises(RuntimeError):
        encoder.start(200, [], date=b"", keep_alive=True)
