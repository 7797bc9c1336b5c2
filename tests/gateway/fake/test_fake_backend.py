"""The fake backend itself: how faults are written, what they do to bytes, what goes over the socket."""

import asyncio
import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import for_each
from patience import PATIENCE
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.framing import SniffingParser
from streamweir_gateway.fake import FAULTS, FakeBackend, Settings, parse_faults, serve_fake
from streamweir_gateway.fake.body import body_steps
from streamweir_gateway.fake.corruption import DAMAGES, badjson, can_be_damaged, wrong_types
from streamweir_gateway.fake.fault_syntax import FaultError, parse_fault
from streamweir_gateway.fake.faults import AT, END
from streamweir_gateway.fake.response import response_steps
from streamweir_gateway.fake.run import Framing, Run, WireEvent
from streamweir_gateway.fake.steps import Break, Pause, Raw, Send, Step

DIALECTS = process_dialects().writable
FRAMINGS: tuple[Framing, ...] = ("sse", "ndjson")


def run_of(dialect: str = "legacy", framing: Framing = "sse", **options: Any) -> Run:
    return Run(dialect, framing, options={}, **options)


def events_of(dialect: str = "legacy", framing: Framing = "sse", **options: Any) -> list[WireEvent]:
    return list(run_of(dialect, framing, **options).events())


def steps_of(*faults: str, run: Run | None = None) -> list[Step]:
    return list(body_steps(run or run_of(), parse_faults(faults), pace=0, seed=0))


def sent(steps: list[Step]) -> bytes:
    return b"".join(step.data for step in steps if isinstance(step, Send))


def frames_in(data: bytes) -> int:
    parser = SniffingParser(100 << 20)
    return len([*parser.feed(data), *parser.finish()])


# --- how faults are written ---------------------------------------------------------------------------------


@for_each("kind", FAULTS.values())
def test_every_example_can_be_read(kind: Any) -> None:
    fault = parse_fault(kind.example)
    assert fault.kind is kind
    assert (fault.position is not None) == kind.has_position
    assert kind.explanation


@for_each("name", FAULTS)
def test_every_fault_can_be_played(name: str) -> None:
    texts = ["status:429", name] if name == "retry-after" else [name]
    steps = response_steps(Settings(faults=parse_faults(texts), pace=0))
    first = next(steps, None)
    assert first is not None


def test_parse_fault_reads_position_and_argument() -> None:
    stall = parse_fault("stall@20:30s")
    assert (stall.position, stall.argument) == (20, 30.0)
    assert parse_fault("stall").position == AT
    assert parse_fault("stall").argument is None
    assert parse_fault("badjson@end").position == END
    assert parse_fault("gzip-bomb@5:1GiB").amount == 1 << 30
    assert parse_fault("status:429").amount == 429
    assert str(parse_fault("cut@end")) == "cut@end"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ctu@40", "unknown fault 'ctu'; did you mean 'cut'?"),
        ("", "unknown fault ''"),
        ("@3", "unknown fault '@3'"),
        ("cut@many", "cut@many: the position is the number of an event, as in cut@40"),
        ("cut@-1", "the position is the number of an event"),
        ("cut-byte@end", "the position is the number of a byte"),
        ("html@3", "html has no position"),
        ("nan@end", "there is no event behind the last"),
        ("drip@end:1s", "there is no event behind the last"),
        ("cut@3:5", "cut takes no argument"),
        ("stall:soon", "stall:soon: the argument is a duration, as in stall@20:30s"),
        ("long-line:-5", "the argument is a size"),
        ("long-line:99999TiB", "the argument is a size"),
        ("burst:x", "the argument is a count"),
        ("status:99", "the status is 200 to 599"),
        ("redirect:200", "the status is 300 to 399"),
    ],
)
def test_parse_fault_of_an_unreadable_text_names_the_problem(text: str, told: str) -> None:
    with pytest.raises(FaultError) as error:
        parse_fault(text)
    assert told in str(error.value)


@pytest.mark.parametrize(
    "texts",
    [
        "refused cut",
        "no-headers html",
        "status:500 cut@3",
        "html gzip",
        "status:500 redirect",
        "gzip br",
        "bytewise random-cuts",
        "cut@3 reset@5",
        "cut@3 cut@5",
        "cut@3 stall@4",
        "cut@3 badjson@end",
        "stop@3 second-end",
        "error@3 nan@5",
        "gzip-cut cut@50",
        "no-end second-end",
        "no-end no-end",
        "length-short close-delimited",
        "length-long endless-line",
        "length-long stall",
        "bad-chunk close-delimited",
        "retry-after:3s",
    ],
)
def test_contradictions_are_refused(texts: str) -> None:
    with pytest.raises(FaultError, match=r"contradict|goes with|never|once"):
        parse_faults(texts.split())


@pytest.mark.parametrize(
    "texts",
    [
        "cut@40 stall@20:30s badjson@10",
        "stall@40 stall@20:1s",
        "nan@5 nul@5 cut@5",
        "gzip bytewise cut@9 long-header",
        "status:503 retry-after:3s drip-headers",
        "no-end badjson@end",
        "length-short gzip drip@3:1ms",
        "informational long-header many-headers",
    ],
)
def test_parse_faults_accepts_compatible_faults(texts: str) -> None:
    assert len(parse_faults(texts.split())) == len(texts.split())


# --- the run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_faults_the_run_is_whole(dialect: str, framing: Framing) -> None:
    translator = Translator(speaks=dialect, framing="json")
    body = sent(steps_of(run=run_of(dialect, framing)))
    result = json.loads(translator.feed(body) + translator.close())
    assert (result["status"], result["warnings"]) == ("completed", [])
    assert "Hangzhou" in result["message"]["content"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_events_option_sets_the_number_of_events(dialect: str) -> None:
    assert 495 <= len(events_of(dialect, events=500)) <= 510
    assert len(events_of(dialect, events=0)) < len(events_of(dialect))
    assert events_of(dialect, events=500) == events_of(dialect, events=500)


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_recorded_body_is_played_to_the_byte(dialect: str, framing: Framing) -> None:
    events = events_of(dialect, framing)
    body = b"".join(event.data for event in events)
    played = events_of("legacy", framing, replay=body)
    assert [event.data for event in played] == [event.data for event in events]
    assert [event.is_end for event in played] == [False] * (len(played) - 1) + [True]


# --- what faults do to the body -----------------------------------------------------------------------------


@given(st.integers(0, 60))
def test_cut_lets_exactly_so_many_events_through(position: int) -> None:
    events = events_of()
    *rest, last = steps_of(f"cut@{position}")
    assert sent(rest) == b"".join(event.data for event in events[:position])
    assert last == Break("cut")


@given(st.integers(0, 8000))
def test_cut_byte_lets_exactly_so_many_bytes_through(position: int) -> None:
    whole = sent(steps_of())
    *rest, last = steps_of(f"cut-byte@{position}")
    assert sent(rest) == whole[:position]
    assert last == Break("cut")


def test_faults_happen_in_order() -> None:
    steps = steps_of("stall@20:30s", "badjson@10", "reset@25")
    assert Pause(30.0) in steps
    assert steps[-1] == Break("reset")
    before = steps[: steps.index(Pause(30.0))]
    assert frames_in(sent(before)) == 22


def test_end_faults_leave_out_repeat_or_follow_the_end() -> None:
    events = events_of()
    whole = b"".join(event.data for event in events)
    end = b"".join(event.data for event in events if event.is_end)
    assert end
    assert sent(steps_of("no-end")) + end == whole
    assert sent(steps_of("second-end")) == whole + end
    assert sent(steps_of("after-end:3")).startswith(whole)
    assert frames_in(sent(steps_of("after-end:3"))) == len(events) + 3
    assert steps_of("silence-after-end")[-1] == Pause(float("inf"))


def test_bursts_and_bombs_are_as_large_as_asked_for() -> None:
    assert frames_in(sent(steps_of("burst@3:1000"))) == len(events_of()) + 1000
    bomb = sent(steps_of("gzip-bomb@3:1MiB"))
    assert abs(len(bomb) - len(sent(steps_of())) - (1 << 20)) < 1024
    assert frames_in(bomb) == len(events_of())


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
@for_each("name", DAMAGES)
def test_damage_stays_within_one_event(name: str, dialect: str, framing: Framing) -> None:
    for event in events_of(dialect, framing):
        if can_be_damaged(event.data):
            damaged = DAMAGES[name](event.data, 1000)
            assert damaged != event.data
            assert frames_in(damaged) == frames_in(event.data)


def test_each_damage_writes_its_bytes() -> None:
    event = b'data: {"type": "token", "content": "Hi", "n": 1}\n\n'
    assert b"\xff\xfe" in DAMAGES["bad-utf8"](event, 0)
    assert b'"Hi\\u0000"' in DAMAGES["nul"](event, 0)
    assert b'"Hi\0"' in DAMAGES["nul-byte"](event, 0)
    assert b"\\ud83d" in DAMAGES["surrogate"](event, 0)
    assert b'"n": NaN' in DAMAGES["nan"](event, 0)
    assert b'"n": ' + b"9" * 400 in DAMAGES["huge-int"](event, 0)
    assert DAMAGES["duplicate-keys"](event, 0).count(b'"type"') == 2
    assert DAMAGES["nested"](event, 10_000).count(b"[") == 5000
    assert len(DAMAGES["long-line"](event, 10_000)) in range(10_000, 10_100)
    with pytest.raises(ValueError, match=r".*"):
        json.loads(badjson(event)[6:])


def test_wrong_types_reach_every_field() -> None:
    copies = list(wrong_types(b'{"type": "token", "data": {"content": "Hi", "n": [1]}}\n'))
    assert len(set(copies)) > 40
    assert b'{"type": "token", "data": {"content": null, "n": [1]}}\n' in copies
    assert b'{"type": "token", "data": {"content": "Hi", "n": [[]]}}\n' in copies
    assert b"null\n" in copies


def test_damage_of_a_frame_without_json_changes_nothing() -> None:
    for damage in DAMAGES.values():
        assert damage(b"data: [DONE]\n\n", 10) == b"data: [DONE]\n\n"
    assert list(wrong_types(b": comment\n\n")) == []


# --- the socket ---------------------------------------------------------------------------------------------


async def asked(
    backend: FakeBackend, target: str = "/", *headers: tuple[str, str]
) -> tuple[h11.Response, bytes]:
    """The response and body that a strict client gets; what breaks is raised."""
    reader, writer = await asyncio.open_connection(*backend.address)
    connection = h11.Connection(h11.CLIENT)
    request = h11.Request(
        method="POST", target=target, headers=[("Host", "x"), ("Content-Length", "2"), *headers]
    )
    writer.write(connection.send(request) or b"")
    writer.write(connection.send(h11.Data(data=b"{}")) or b"")
    connection.send(h11.EndOfMessage())
    response, body = None, b""
    try:
        async with asyncio.timeout(PATIENCE):
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(65536))
                elif isinstance(event, h11.Response):
                    response = event
                elif isinstance(event, h11.Data):
                    body += event.data
    finally:
        writer.transport.abort()
    assert response is not None
    return response, body


def fast(*faults: str, **options: Any) -> Settings:
    return Settings(dialect="legacy", faults=parse_faults(faults), pace=0, **options)


@pytest.mark.anyio
async def test_each_request_may_ask_for_faults_of_its_own() -> None:
    async with serve_fake(fast()) as backend:
        response, body = await asked(backend)
        assert (response.status_code, frames_in(body)) == (200, len(events_of()))
        response, _ = await asked(backend, "/any/path?fault=status:503&fault=retry-after:7s")
        assert (response.status_code, dict(response.headers)[b"retry-after"]) == (503, b"7")
        response, _ = await asked(backend, "/", ("X-Fault", "status:429, retry-after:3s"))
        assert (response.status_code, dict(response.headers)[b"retry-after"]) == (429, b"3")
        _, body = await asked(backend, "/?fault=stop@3&dialect=standard&framing=ndjson&events=100&pace=off")
        assert [json.loads(line)["metadata"]["sequence"] for line in body.splitlines()] == [0, 1, 2]
        assert backend.requests == 4


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("fault=ctu", "did you mean"),
        ("fault=refused", "whole server"),
        ("fault=cut@1&fault=cut@2", "contradict"),
        ("dialect=latin", "unknown dialect"),
        ("framing=xml", "one of: sse, ndjson"),
        ("events=-1", "events must be a number"),
        ("pace=fast", "pace must be a duration"),
        ("option=form", "KEY=VALUE"),
        ("option=form=agent", "no option"),
    ],
)
async def test_query_with_an_impossible_fault_is_refused_with_the_reason(query: str, told: str) -> None:
    async with serve_fake(fast()) as backend:
        response, body = await asked(backend, f"/?{query}")
    assert response.status_code == 400
    assert told in json.loads(body)["error"]


@pytest.mark.anyio
async def test_codings_hold_the_same_run() -> None:
    async with serve_fake(fast()) as backend:
        _, plain = await asked(backend)
        for coding, undo in (("gzip", gzip.decompress), ("deflate", zlib.decompress)):
            response, body = await asked(backend, f"/?fault={coding}")
            assert dict(response.headers)[b"content-encoding"] == coding.encode()
            assert undo(body) == plain


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fault",
    ["cut@3", "reset@3", "bad-chunk@3", "length-long", "length-junk", "no-last-chunk", "not-http",
     "accept-close", "reset-before-headers", "cut-headers"],
)  # fmt: skip
async def test_strict_client_gets_an_error_from_a_break(fault: str) -> None:
    async with serve_fake(fast(fault)) as backend:
        with pytest.raises((h11.RemoteProtocolError, ConnectionError)):
            await asked(backend)


@pytest.mark.anyio
async def test_refused_fault_closes_the_port() -> None:
    async with serve_fake(fast("refused")) as backend:
        with pytest.raises(ConnectionRefusedError):
            await asked(backend)


@pytest.mark.anyio
async def test_connection_serves_request_after_request() -> None:
    async with serve_fake(fast("status:404")) as backend:
        reader, writer = await asyncio.open_connection(*backend.address)
        bodies = (b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
        for body in (*bodies, b"Connection: close\r\n\r\n"):
            writer.write(b"POST / HTTP/1.1\r\n" + body)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 404 ")
            await reader.readexactly(int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0]))
        assert await reader.read() == b""
        assert (backend.requests, backend.connections) == (3, 0)
        writer.close()


@pytest.mark.anyio
async def test_requests_that_arrive_before_the_end_of_an_answer_are_answered_in_turn() -> None:
    async with serve_fake(fast()) as backend:
        reader, writer = await asyncio.open_connection(*backend.address)
        writer.write(2 * b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}" + b"GET / HTTP/1.0\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            answers = await reader.read(-1)
        assert answers.count(b"HTTP/1.1 200 ") == backend.requests == 3
        assert answers.count(b"\r\n0\r\n\r\n") == 3
        writer.close()


@pytest.mark.anyio
async def test_client_that_leaves_ends_the_play() -> None:
    async with serve_fake(fast("stall@3")) as backend:
        reader, writer = await asyncio.open_connection(*backend.address)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        assert backend.playing == 1
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE):
            while backend.connections:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.005)
        assert backend.playing == 0


@pytest.mark.anyio
async def test_bytewise_writes_byte_by_byte() -> None:
    steps = list(response_steps(fast("bytewise", "cut@3")))
    assert all(len(step.data) == 1 for step in steps if isinstance(step, Raw))


def test_random_cuts_are_the_same_again() -> None:
    def cuts(seed: int) -> Iterator[Step]:
        return response_steps(fast("random-cuts", seed=seed))

    assert list(cuts(1)) == list(cuts(1))
    assert list(cuts(1)) != list(cuts(2))


def test_fault_without_its_package_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(ConfigurationError, match="pip install brotli"):
        Settings().settled({"fault": ["br-cut@3"]})


def test_unknown_dialects_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'ragflow'"):
        Settings().settled({"dialect": ["ragflwo"]})
