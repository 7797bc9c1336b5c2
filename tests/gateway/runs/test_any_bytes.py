"""Any bytes of an upstream, cut anywhere, give the client a valid stream; over sockets."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import CLOSE_DELIMITED, LAST_CHUNK, SSE, Call, chunk, upstream
from streams import Recorded, recorded_streams

STREAMS = [stream for stream in recorded_streams() if len(stream.body) < 20_000]
DIALECTS = sorted({stream.dialect for stream in STREAMS})
CASES = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


class Running(NamedTuple):
    """A gateway with an endpoint for each dialect, and one upstream that sends the given bytes."""

    portal: BlockingPortal
    gateway: Gateway
    sends: list[bytes]

    def ask(self, dialect: str, *sends: bytes, accept: str = "text/event-stream") -> Answer:
        """Return the answer of a client if the upstream sends these bytes, one write each, and closes."""
        self.sends[:] = sends
        headers = [("Accept", accept)]
        return self.portal.call(lambda: ask(self.gateway, target=f"/{dialect}", headers=headers))

    def log_line(self) -> dict[str, object]:
        return self.portal.call(self.gateway.log.next_line)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    sends: list[bytes] = []

    async def script(call: Call) -> None:
        await call.send(*sends)

    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(upstream(script)) as server,
    ):
        options = {
            "upstream": server.url,
            "timeouts": {"first_event": "3s", "idle": "3s", "connect": "3s"},
            "limits": {"event_bytes": "16KiB", "stream_bytes": "128KiB", "malformed_events": 5},
        }
        unbroken = {"url": server.url, "breaker": "off"}
        config = settled(
            upstreams={"scripted": unbroken},
            endpoints={
                f"/{name}": {**options, "upstream": "scripted", "speaks": name}
                for name in [*DIALECTS, "auto"]
            },
        )
        with portal.wrap_async_context_manager(gateway(config)) as started:
            yield Running(portal, started, sends)


def keeps_the_contract(running: Running, answer: Answer) -> None:
    """Check that the stream is valid, and that the log has the same reason."""
    answer.assert_valid()
    assert answer.status == 200
    line = running.log_line()
    assert line["reason"] == answer.end["reason"]
    assert line["events"] == len(answer.events)


def cuts_of(draw: st.DrawFn, data: bytes) -> list[bytes]:
    places = sorted(draw(st.sets(st.integers(0, len(data)), max_size=6)))
    return [
        data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True) if start < end
    ]


@st.composite
def garbled(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A recorded stream with parts removed, repeated or replaced, cut anywhere."""
    stream: Recorded = draw(st.sampled_from(STREAMS))
    body = stream.body
    for _ in range(draw(st.integers(0, 3))):
        start, end = sorted((draw(st.integers(0, len(body))), draw(st.integers(0, len(body)))))
        in_between = draw(
            st.one_of(st.binary(max_size=40), st.just(b""), st.just(body[start:end] * 2), SPLINTERS)
        )
        body = body[:start] + in_between + body[end:]
    return draw(st.sampled_from([stream.dialect, stream.dialect, "auto"])), cuts_of(draw, body)


SPLINTERS = st.sampled_from(
    [
        b"\n\n",
        b"\r",
        b"\xef\xbb\xbf",
        b"\x00",
        b"\xff\xfe",
        b"data:",
        b"data: [DONE]\n\n",
        b": ping\n\n",
        b"null",
        b"NaN",
        b"-1e999",
        b'"\\ud800"',
        b"123456789012345678901234567890",
        b"[" * 2000,
        b'{"a":' * 2000,
        b"<html>",
        b"event: error\n",
        b"x" * 20_000,
    ]
)


@CASES
@given(case=garbled(), accept=st.sampled_from(["text/event-stream", "application/x-ndjson"]))
def test_garbled_stream_gives_a_valid_stream(
    running: Running, case: tuple[str, list[bytes]], accept: str
) -> None:
    dialect, pieces = case
    keeps_the_contract(running, running.ask(dialect, CLOSE_DELIMITED, *pieces, accept=accept))


@CASES
@given(
    dialect=st.sampled_from([*DIALECTS, "auto"]),
    pieces=st.lists(st.one_of(st.binary(max_size=200), SPLINTERS)),
)
def test_any_bytes_in_chunks_give_a_valid_stream(running: Running, dialect: str, pieces: list[bytes]) -> None:
    chunks = [chunk(piece) for piece in pieces if piece]
    keeps_the_contract(running, running.ask(dialect, SSE, *chunks, LAST_CHUNK))


@CASES
@given(head=st.one_of(st.binary(max_size=300), st.integers(0, len(SSE)).map(lambda end: SSE[:end])))
@example(head=b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello")
@example(head=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n")
@example(head=b"HTTP/1.1 100 Continue\r\n\r\n" * 50)
def test_any_bytes_in_place_of_http_give_a_valid_answer(running: Running, head: bytes) -> None:
    answer = running.ask("legacy", head)
    keeps_the_contract(running, answer)
    assert answer.end["status"] == "error"


@CASES
@given(stream=st.sampled_from(STREAMS), data=st.data())
def test_evidence_of_the_end_counts_for_broken_and_closed_connections(
    running: Running, stream: Recorded, data: st.DataObject
) -> None:
    """A stream that is cut within an HTTP chunk is complete only with evidence of its end."""
    end = data.draw(st.integers(0, len(stream.body)))
    promised = b"%x\r\n" % (len(stream.body) + 1)
    broken = running.ask(stream.dialect, SSE, promised + stream.body[:end])
    keeps_the_contract(running, broken)
    if broken.end["status"] == "completed":
        closed = running.ask(stream.dialect, CLOSE_DELIMITED, stream.body[:end])
        keeps_the_contract(running, closed)
        assert closed.end["status"] == "completed"
