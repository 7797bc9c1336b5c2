"""WebSocket frames: read whole, byte by byte and cut anywhere, beside the frames that `websockets` writes."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN, SERVER, Protocol

from streamweir.framing.websocket import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    WebSocketFrame,
    WebSocketReader,
    client_frame,
    close_frame,
)

LIMIT = 1 << 20


def server_frame(opcode: int, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(Opcode(opcode), data, fin).serialize(mask=False)


def read(
    body: bytes, cuts: list[int] | None = None, limit: int = LIMIT
) -> tuple[list[WebSocketFrame], object]:
    reader, frames, last = WebSocketReader(limit), [], 0
    for cut in [*(cuts or []), len(body)]:
        frames += [
            WebSocketFrame(TEXT, found) if isinstance(found, bytes) else found
            for found in reader.feed(body[last:cut])
        ]
        last = cut
    return frames, reader.failure


def in_every_cut(body: bytes) -> tuple[list[WebSocketFrame], object]:
    """Read the whole body; byte by byte and cut at random it must give the same."""
    whole = read(body)
    assert read(body, [*range(len(body))]) == whole
    rand = random.Random(len(body))
    for _ in range(5):
        assert read(body, sorted(rand.choices(range(len(body) + 1), k=4))) == whole
    return whole


SIZES = st.sampled_from([125, 126, 127, 65_535, 65_536])
SIZED = st.binary(max_size=200) | SIZES.map(lambda size: bytes(size - 1) + b"c")
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([TEXT, BINARY]),
        st.lists(SIZED, min_size=1, max_size=3),
        st.lists(st.tuples(st.sampled_from([PING, PONG]), st.binary(max_size=125)), max_size=2),
    ),
    max_size=5,
)


@given(MESSAGES)
def test_reader_of_fragments_and_pings_returns_each_message_in_order(
    messages: list[tuple[int, list[bytes], list[tuple[int, bytes]]]],
) -> None:
    body, expected = b"", []
    for opcode, fragments, controls in messages:
        for index, fragment in enumerate(fragments):
            last = index == len(fragments) - 1
            body += server_frame(opcode if index == 0 else 0, fragment, fin=last)
            if not last:
                body += b"".join(server_frame(*control) for control in controls)
                expected += [WebSocketFrame(*control) for control in controls]
        expected.append(WebSocketFrame(opcode, b"".join(fragments)))
    cuts = list(range(0, len(body), 777))
    assert read(body) == read(body, cuts) == (expected, None)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_reader_of_any_bytes_gives_the_same_however_they_are_cut(body: bytes, cuts: list[int]) -> None:
    assert read(body, sorted(min(cut, len(body)) for cut in cuts)) == read(body)


def test_reader_of_short_fragments_keeps_little_more_than_their_bytes() -> None:
    reader = WebSocketReader(1 << 20)
    reader.feed(b"\x01\x02ab")
    fragments = b"\x00\x02cd" * 1000
    tracemalloc.start()
    for _ in range(100):
        assert reader.feed(fragments) == []
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2 * 200_000
    assert reader.feed(b"\x80\x02ef") == [b"ab" + b"cd" * 100_000 + b"ef"]


def test_reader_returns_whole_frames_before_a_breach() -> None:
    frames, failure = in_every_cut(server_frame(TEXT, b"one") + b"\x83\x00")
    assert frames == [(TEXT, b"one")]
    assert failure is not None


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("masked", b"\x81\x83abcdxyz"),
        *((f"reserved bit {bit:#x}", bytes([0x81 | bit, 0])) for bit in (0x40, 0x20, 0x10)),
        *((f"opcode {opcode}", bytes([0x80 | opcode, 0])) for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)),
        ("fragment without a message", b"\x80\x01a"),
        ("message within a message", b"\x01\x01a\x81\x01b"),
        ("ping in fragments", b"\x09\x00"),
        ("long ping", b"\x89\x7e\x00\x7e" + bytes(126)),
        ("2 bytes for a short length", b"\x81\x7e\x00\x05hello"),
        ("8 bytes for a short length", b"\x81\x7f" + (5).to_bytes(8) + b"hello"),
        ("a length with its highest bit", b"\x81\x7f\xff" + bytes(7)),
        ("Close of one byte", b"\x88\x01\x03"),
        *(
            (f"Close {code}", b"\x88\x02" + code.to_bytes(2))
            for code in (0, 999, 1004, 1005, 1006, 1015, 2999, 5000)
        ),
        ("Close with a reason that is no UTF-8", b"\x88\x03\x03\xe8\xff"),
    ],
)
def test_reader_of_a_breach_of_the_protocol_fails_with_1002(name: str, body: bytes) -> None:
    frames, failure = in_every_cut(body + server_frame(TEXT, b"behind"))
    assert frames == [], name
    assert failure is not None
    assert failure[0] == 1002  # type: ignore[index]


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1007, 1008, 1011, 1012, 1013, 1014, 3000, 4401, 4999])
def test_reader_of_a_close_frame_returns_it_and_drops_the_rest(code: int) -> None:
    body = server_frame(CLOSE, code.to_bytes(2) + "zu Ende ✓".encode()) + server_frame(TEXT, b"behind")
    frames, failure = in_every_cut(body)
    assert [frame.close_code for frame in frames] == [code]
    assert failure is None


def test_close_frame_without_a_code_reads_as_1005() -> None:
    assert read(server_frame(CLOSE, b""))[0][0].close_code == 1005


@pytest.mark.parametrize(
    "body",
    [
        b"\x81\x7f\x3f" + bytes(7),  # 2^62 bytes are announced
        b"\x81\x7e\x04\x01",
        server_frame(TEXT, bytes(1024), fin=False) + b"\x80\x01",
    ],
)
def test_reader_of_a_message_over_the_limit_fails_before_its_bytes_come(body: bytes) -> None:
    assert read(body, limit=1024)[1] is not None
    assert read(body, limit=1024)[1][0] == 1009  # type: ignore[index]


def test_reader_of_a_message_at_the_limit_returns_it() -> None:
    assert read(server_frame(TEXT, bytes(1024)), limit=1024) == ([(TEXT, bytes(1024))], None)
    assert read(server_frame(TEXT, bytes(100)), limit=100) == ([(TEXT, bytes(100))], None)
    assert read(server_frame(TEXT, bytes(101)), limit=100)[1] is not None


@given(st.sampled_from([TEXT, BINARY, PING]), SIZED)
def test_client_frame_is_read_by_a_server(opcode: int, data: bytes) -> None:
    if opcode == PING:
        data = data[:125]
    server = Protocol(SERVER, state=OPEN)
    server.receive_data(client_frame(opcode, data))
    (frame,) = server.events_received()
    assert isinstance(frame, Frame)
    assert (frame.opcode, bytes(frame.data)) == (opcode, data)


def test_close_frame_of_a_client_is_read_by_a_server() -> None:
    server = Protocol(SERVER, state=OPEN)
    server.receive_data(close_frame(1001))
    assert server.close_rcvd is not None
    assert server.close_rcvd.code == 1001
