"""A run is the same with no client and with two clients, of which one is slow."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from loopback import Log, one_endpoint
from patience import PATIENCE
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, Script, answer, chunk, upstream
from streamweir.codec.base import Options
from streamweir.codec.registry import process_dialects
from streamweir.events import Content, Event, Stamp, Thinking
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.metrics import make_metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import trace_context_of
from streamweir_gateway.requests.offers import NO_OFFER
from streamweir_gateway.runs.admission import Admissions
from streamweir_gateway.runs.audience import Audience
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.run import Run
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.via import Via

pytestmark = pytest.mark.anyio


class EventList:
    """A sink that keeps its events."""

    def __init__(self) -> None:
        self.types: list[str] = []
        self.text = ""

    def write(self, event: Event, stamp: Stamp) -> None:
        del stamp
        self.types.append(event.type)
        if isinstance(event, Content):
            self.text += event.content

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        for text in texts:
            self.write(event.with_text(text), stamp)

    def finish(self) -> None:
        self.types.append("finished")

    def heartbeat(self) -> bytes:
        return b""


class Hall:
    """An audience of several lists that is slow with each read."""

    def __init__(self, size: int, pause: float) -> None:
        self.attempts: list[list[EventList]] = []
        self.sent: list[str] = []
        self._size = size
        self._pause = pause
        self.has_unsent = False

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> "Hall":
        assert reader.dialect is not None
        assert (dict(options), write_timeout) == ({}, 30.0)
        self.attempts.append([EventList() for _ in range(self._size)])
        return self

    def awaits_document(self, sink: EventSink) -> bool:
        raise AssertionError("no body of these tests is JSON")

    def open_document_sink(self, reader: StreamReader, data: bytes) -> None:
        raise AssertionError("no body of these tests is JSON")

    def forward_headers(self, response: UpstreamResponse) -> None:
        assert response.status == 200

    def send_at_once(self, now: float) -> bool:
        del now
        self.has_unsent = bool(self._pause)
        return not self.has_unsent

    async def send(self) -> None:
        self.has_unsent = False
        await asyncio.sleep(self._pause)
        self.sent.extend(listener.text for listener in self.attempts[-1][:1])

    # An EventSink for all of them.

    def write(self, event: Event, stamp: Stamp) -> None:
        for listener in self.attempts[-1]:
            listener.write(event, stamp)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        for listener in self.attempts[-1]:
            listener.write_run(event, texts, stamp)

    def finish(self) -> None:
        for listener in self.attempts[-1]:
            listener.finish()

    def heartbeat(self) -> bytes:
        return b""


def run_for(audience: Audience, url: str, record: RequestRecord) -> Run:
    """Return a run at `url` with `audience` as its only receiver."""
    config = one_endpoint(url).endpoints[0]
    target, dialects = config.upstreams[0], process_dialects()
    destinations = [
        Destination(
            config,
            target,
            url,
            client=UpstreamClient(),
            admission=Admissions().of(target),
            dialects=dialects,
            via=Via(),
            debug=False,
        )
        for _ in range(2)
    ]
    endpoint = Endpoint(config, destinations, dialects=dialects, debug=False)
    incoming = Incoming("req_1", "POST", {}, [], b"", "standard", "sse", trace_context_of([]), 0)
    request = destinations[0].request(incoming)
    context = RequestContext(
        endpoint,
        incoming,
        RequestBody.sent(b""),
        dict.fromkeys(destinations, NO_OFFER),
        audience=audience,
        supervisor=RunSupervisor(None),
        live=LiveStreams().open(record, {}),
        record=record,
        observer=Observer(Log(), make_metrics()),
    )
    return Run(context, request)


def busy_once() -> Script:
    answers = [
        (answer(b"", "Connection: close", status="503 Unavailable"),),
        (SSE, *map(chunk, HELLO), LAST_CHUNK),
    ]

    async def script(call: Call) -> None:
        await call.send(*answers.pop(0), pause=0.02)

    return script


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("pause", [0.0, 0.05])
async def test_run_is_the_same_without_audience_and_with_two(size: int, pause: float) -> None:
    hall, record = Hall(size, pause), RequestRecord("req_1", "POST", "/chat")
    async with asyncio.timeout(PATIENCE), upstream(busy_once()) as server:
        run = run_for(hall, server.url, record)
        await run.run()
    run.complete(record)
    assert (record.reason, record.speaks, record.attempts) == ("done", "legacy", 2)
    _, followed = hall.attempts
    assert [listener.text for listener in followed] == ["Hello"] * size
    assert all(listener.types[0] == "session_start" for listener in followed)
    assert all(listener.types[-2:] == ["session_end", "finished"] for listener in followed)
    assert hall.sent[:1] == ["Hel"] * min(size, 1)
