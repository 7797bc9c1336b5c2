"""Reads, writes and events of streams whose bytes are not kept: relayed ones, blocks, and gaps."""

import gc
import random
from collections.abc import Iterator
from time import monotonic
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from loopback import ask, gateway, one_endpoint
from patience import until
from scripted_upstream import LAST_CHUNK, SSE, Call, chunk, upstream
from streamweir.capture.masking import SecretMask
from streamweir.errors import error_info
from streamweir.translation.translator import Translator
from streamweir_gateway.app import build_app
from streamweir_gateway.config import ConsoleConfig
from streamweir_gateway.console import stream_rows
from streamweir_gateway.console.ended_capture import EndedCapture
from streamweir_gateway.console.noted_capture import NotedCapture
from streamweir_gateway.console.outline_recorder import OutlineRecorder
from streamweir_gateway.console.recorded_request import CaptureSettings
from streamweir_gateway.console.relays import relays_in
from streamweir_gateway.console.request_recorder import MOST_NOTES
from streamweir_gateway.console.stream_log import Entry
from streamweir_gateway.console.stream_rows import StreamRows
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.live_streams import LiveStreams

Line = tuple[str, int, int, int | None]
"""Kind, number, size, sequence of the next event."""


class SentBytes:
    """The facts about a delivery that lanes look at."""

    def __init__(self) -> None:
        self.bytes = 0
        self.status = 200
        self.is_started = True
        self.supervisor: Any = None
        self.watcher: Any = None
        self.on_sent_at_once: Any = None


def lines_of(entries: list[Entry]) -> Iterator[Line]:
    """Yield the reads and writes in a log."""
    for entry in entries:
        if entry[0] == "read":
            yield "read", entry[5], entry[2], entry[4]
        elif entry[0] == "write":
            yield "write", entry[5], entry[2], entry[4]
        elif entry[0] == "relays":
            for relay in relays_in(entry):
                yield "read", relay.read, relay.size, relay.before
                if relay.sent:
                    yield "write", relay.write, relay.sent, relay.behind


def builtins_of(entries: list[Entry]) -> Any:
    """Return the entries of a log with lists in place of tuples."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(entries))


class Play:
    """A stream whose reads are relayed at once or not, at random, and the lines that its log has to have."""

    def __init__(self, seed: int, max_bytes: int) -> None:
        self.random = random.Random(seed)
        settings = CaptureSettings(max_bytes, max_bytes // 4, "", SecretMask(()), lambda _: None)
        record, scope = RequestRecord("req_1", "POST", "/chat"), {"type": "http"}
        self.recorder = OutlineRecorder("row-1", record, settings, scope)
        self.sent = SentBytes()
        self.expected: list[Line] = []
        self.stream = Translator(speaks="legacy", answers="standard").stream
        self.position = self.stream.pipeline.position
        destination: Any = SimpleNamespace(label="u", identity="u", config=SimpleNamespace(speaks="legacy"))
        response: Any = SimpleNamespace(status=200, headers=[])
        self.recorder.delivered_by(self.sent, reports_relays=True)
        self.recorder.attempt_began(1, destination, self.stream, {})
        self.recorder.answered(response)
        self.read, self.relayed, self.written = response.on_read, response.on_relayed, self.recorder.written
        self.reads = self.writes = 0

    def log(self) -> list[Entry]:
        """Return the entries of the log but for those of the attempt."""
        while self.recorder.masking.has_work:
            self.recorder.masking.work(1 << 20)
        entries = [entry for _, entry in self.recorder.entries(0)]
        return [entry for entry in entries if entry[0] not in ("begin", "response")]

    def step(self, number: int) -> None:
        """Take one read, and write its events in one of the ways that a gateway has."""
        kind = "status" if self.random.random() < 0.1 else "token"
        data = b'data: {"type": "%s", "content": "text %d"}\n\n' % (kind.encode(), number)
        before, way = self.position.written, self.random.random()
        is_relayed = way < 0.8
        self.expected.append(("read", self.reads, len(data), before))
        self.reads += 1
        if not is_relayed:
            self.read(data)
        self.stream.feed(data)
        if way < 0.7:
            self.sent.bytes += self._write(len(data) * 2)
        if is_relayed:
            self.relayed(monotonic(), data, before)
        if way > 0.75:  # by another way, or a heartbeat
            self.written(bytes(self._write(7)))
            self.sent.bytes += 7

    def _write(self, size: int) -> int:
        self.expected.append(("write", self.writes, size, self.position.written))
        self.writes += 1
        return size


@pytest.mark.parametrize("seed", range(20))
def test_lanes_of_relayed_and_other_reads_have_each_read_and_write_in_order(seed: int) -> None:
    play = Play(seed, 1 << 20)
    for number in range(300):
        play.step(number)
        if play.random.random() < 0.02:  # somebody looks at a stream under way
            play.log()
    assert [*lines_of(play.log())] == play.expected


@pytest.mark.parametrize("seed", range(20))
def test_packed_notes_give_the_log_that_the_recorder_would_give(seed: int) -> None:
    play = Play(seed, 1 << 20)
    for number in range(play.random.randint(0, 300)):
        play.step(number)
    facts: Any = SimpleNamespace(stream=play.stream, failure=None, is_broken=True)
    play.recorder.attempt_ended(1, error_info("UPSTREAM_TRUNCATED") if seed % 2 else None, facts)
    play.recorder.end()
    kept = play.recorder.kept()
    assert isinstance(kept, NotedCapture)
    assert kept.facts() == play.recorder.facts()
    packed, log = kept.whole_log(), play.recorder.whole_log() or []
    assert [*lines_of(packed)] == [*lines_of(log)] == play.expected
    assert builtins_of(packed) == builtins_of(log)
    assert (packed[0][0], packed[0][2]["upstream"], packed[-1][0]) == ("begin", "u", "end")


def test_outline_that_may_not_fit_into_its_log_stays_in_its_recorder() -> None:
    play = Play(3, 5000)
    for number in range(100):
        play.step(number)
    play.recorder.end()
    assert play.recorder.kept() is play.recorder


def test_outline_that_a_viewer_has_asked_for_stays_in_its_recorder() -> None:
    play = Play(4, 1 << 20)
    play.step(0)
    play.log()
    play.recorder.end()
    assert play.recorder.kept() is play.recorder


def test_lanes_of_relayed_reads_share_few_entries() -> None:
    play = Play(0, 1 << 20)
    play.random.random = lambda: 0.5  # type: ignore[method-assign]
    for number in range(320):
        play.step(number)
    kinds = [entry[0] for entry in play.log()]
    assert kinds.count("relays") <= 12
    assert kinds.count("read") <= 2


@pytest.mark.parametrize("max_bytes", [1000, 5000, 50_000])
def test_lanes_beyond_their_room_count_left_out_reads_and_writes(max_bytes: int) -> None:
    play = Play(1, max_bytes)
    for number in range(500):
        play.step(number)
    kept = [*lines_of(play.log())]
    assert set(kept) <= set(play.expected)
    for lane in ("read", "write"):
        sizes = [size for kind, _, size, _ in play.expected if kind == lane]
        left = play.recorder.left_out[lane]
        assert left.lines == len(sizes) - sum(kind == lane for kind, *_ in kept)
        assert left.bytes == sum(sizes) - sum(size for kind, _, size, _ in kept if kind == lane)
    assert play.recorder.size <= max_bytes + 10_000


def test_events_of_a_relayed_read_are_between_it_and_its_write() -> None:
    play = Play(2, 1 << 20)
    play.random.random = lambda: 0.05  # type: ignore[method-assign]
    play.step(0)
    play.step(1)
    kinds = [entry[0] for entry in play.log()]
    assert (kinds[0], kinds[-1]) == ("read", "write")
    assert {*kinds[1:3]} <= {"kind", "mark"}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_row_names_the_capture_of_its_own_stream_after_a_reload() -> None:
    rows = StreamRows(1, ConsoleConfig.model_validate({"capture": "metadata"}))
    ended, running = (RequestRecord(f"req_{number}", "POST", "/chat", reason="done") for number in (1, 2))
    for record in (ended, running):
        rows.recorder(record, {"type": "http"})
    rows.ended(ended)
    rows.configure(ConsoleConfig.model_validate({"capture": "content"}), ())
    rows.recorder(RequestRecord("req_3", "POST", "/chat"), {"type": "http"})
    changes = rows.take(with_open=True)
    found = {row.request_id: row.capture for row in (*changes.rows, *changes.ended)}
    assert found == {"req_1": "metadata", "req_2": "metadata", "req_3": "content"}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_log_of_a_stream_under_way_takes_its_notes_when_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_rows, "SWEEP_SECONDS", 0.001)
    rows = StreamRows(1, ConsoleConfig.model_validate({"capture": "metadata"}))
    long, short = (
        rows.recorder(RequestRecord(f"req_{number}", "POST", "/chat"), {"type": "http"}) for number in (1, 2)
    )
    for _ in range(MOST_NOTES + 1):
        long.written(b"piece")
    short.written(b"piece")
    await until(lambda: not long.note_count)
    assert short.note_count == 1
    assert len([*long.entries(0)]) == MOST_NOTES + 1


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("count", [1, 5, 128, 300])
async def test_streams_that_have_ended_have_rows_and_captures_in_their_order(count: int) -> None:
    keep = {"streams": 4}
    rows = StreamRows(1, ConsoleConfig.model_validate({"capture": "metadata", "keep": keep}))
    made = []
    for number in range(count):
        record = RequestRecord(f"req_{number}", "POST", "/chat", reason="done")
        made.append(rows.recorder(record, {"type": "http"}).row_id)
        rows.ended(record)
        rows.ended(RequestRecord(f"refused_{number}", "POST", "/chat", code="FORBIDDEN"))
    assert rows.ended_count == 2 * count
    assert [rows.find(row_id) is not None for row_id in made] == [
        place >= count - 4 for place in range(count)
    ]
    assert all(isinstance(rows.find(row_id), EndedCapture) for row_id in made[-4:])
    changes = rows.take(with_open=False)
    found = [row.request_id for row in changes.ended]
    assert found == [f"{word}_{number}" for number in range(count) for word in ("req", "refused")]
    assert changes.gone == []
    assert rows.ended_count == 0


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("capture", ["metadata", "content"])
async def test_recorded_streams_leave_no_reference_cycles(capture: str) -> None:
    async def play(call: Call) -> None:
        await call.send(SSE)
        for number in range(20):
            await call.send(chunk(b'data: {"type": "token", "content": "%d"}\n\n' % number))
        await call.send(chunk(b'data: {"type": "done"}\n\n') + LAST_CHUNK)

    async with upstream(play) as backend:
        config = one_endpoint(backend.url)
        settings = ConsoleConfig.model_validate({"capture": capture, "keep": {"streams": 1}})
        rows, streams = StreamRows(1, settings), LiveStreams()
        streams.make_recorder = rows.recorder
        async with gateway(config, build_app(config, streams=streams, watcher=rows)) as running:
            await ask(running)
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for _ in range(5):
                    assert (await ask(running)).end
                rows.take(with_open=True)
                gc.collect()
                found = [one for one in gc.garbage if type(one).__module__.startswith(rows.__module__[:26])]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
    assert found == []
