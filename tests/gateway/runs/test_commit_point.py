"""The commit point: other attempts follow until the first output, and nothing of those given up is seen."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import anyio
import pytest

from cases import case
from loopback import Answer, ask, client, gateway, settled
from patience import PROMPTLY, until
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, Script, chunk, upstream
from streams import Recorded, recorded_streams
from streamweir.codec.registry import process_dialects
from streamweir.errors import error_info
from streamweir.events import Event, SessionStart, Stamp
from streamweir.framing import MEDIA_TYPES
from streamweir.stages import error_event
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.reading.first_output import FirstOutput
from streamweir.translation.sink import EventTap

pytestmark = pytest.mark.anyio

HANDLE: Final = re.compile(rb"run_[0-9a-f]{32}")
SAME: Final = ("upstream", "upstream_status", "reason", "code", "events", "bytes_in", "total_tokens", "cause")
"""The fields of the log line that do not show that there was another attempt."""
TIMES: Final = re.compile(rb'"(timestamp|created|created_at|duration_ms|upstream_time)": ?[\d.]+')

MODES: Final[dict[str, tuple[bool, str, dict[str, Any]]]] = {
    "translated": (False, "text/event-stream", {}),
    "verbatim": (True, "text/event-stream", {}),
    "resumable": (False, "text/event-stream", {"resume": "on"}),
    "resumable verbatim": (True, "text/event-stream", {"resume": "on"}),
    "folded": (False, "application/json", {}),
}
"""For each: whether the client speaks the dialect of the upstream, its Accept, options of the endpoint."""


BLOCKS: Final = {".ndjson": rb".*?(?:\r?\n)+", ".sse": rb"(?s).*?\n\r?\n"}
"""Patterns of one line, and of one event with its blank line."""


class Opened(NamedTuple):
    """A recorded stream that has bytes before its first output."""

    dialect: str
    opening: bytes
    body: bytes
    media_type: str


def opening_of(recorded: Recorded) -> bytes:
    """The blocks of a recorded body before the one that gives the first output."""
    reader = StreamReader(recorded.dialect)
    opening = b""
    for block in re.findall(BLOCKS[recorded.path.suffix], recorded.body):
        for _ in reader.feed(block):
            pass
        if reader.first_output is not None:
            return opening
        opening += block
    return b""


def opened_streams() -> Iterator[Opened]:
    """One stream of each dialect that begins with something other than an output."""
    seen: set[str] = set()
    for recorded in recorded_streams():
        if recorded.dialect in seen or recorded.path.suffix not in (".sse", ".ndjson") or recorded.options:
            continue
        opening = opening_of(recorded)
        expected = recorded.expected.read_text()
        if opening.strip() and '"status":"completed"' in expected and '"type":"warning"' not in expected:
            seen.add(recorded.dialect)
            framing = recorded.path.suffix[1:]
            yield Opened(recorded.dialect, opening, recorded.body, MEDIA_TYPES[framing])


OPENED: Final = [*opened_streams()]


def failure_in(dialect: str, code: str) -> bytes:
    """The frames of a failure with this code, as an upstream of the dialect writes them."""
    if not can_write(dialect):
        return b""
    writer = open_writer(dialect, "sse", request_id="req_0")
    writer.begin_body()
    pipeline = Pipeline((writer,), request_id="req_0")
    pipeline.push(SessionStart())
    writer.take()
    pipeline.push(error_event(error_info(code)))
    return writer.take()


def head(media_type: str) -> bytes:
    lines = ("HTTP/1.1 200 OK", f"Content-Type: {media_type}", "X-From: upstream")
    return "\r\n".join((*lines, "Transfer-Encoding: chunked", "", "")).encode()


def cut_after(body: bytes, media_type: str) -> Script:
    async def play(call: Call) -> None:
        await call.send(head(media_type), chunk(body), b"5\r\nda")

    return play


def ended_after(body: bytes, media_type: str) -> Script:
    async def play(call: Call) -> None:
        await call.send(head(media_type), chunk(body), LAST_CHUNK)

    return play


def reset_after(body: bytes, media_type: str) -> Script:
    async def play(call: Call) -> None:
        await call.send(head(media_type), chunk(body), pause=0.02)
        call.reset()

    return play


def silent_after(body: bytes, media_type: str) -> Script:
    async def play(call: Call) -> None:
        await call.send(head(media_type), chunk(body))
        await call.until_closed()

    return play


def path(endpoint: str, mode: str) -> str:
    return f"/{endpoint}/{mode.replace(' ', '-')}"


def request(number: int, accept: str) -> list[tuple[str, str]]:
    handle = f"run_{number:032x}"
    return [("X-Request-Id", "req_1"), ("X-Streamweir-Run", handle), ("Accept", accept)]


def plain(answer: Answer) -> bytes:
    return HANDLE.sub(b"run", TIMES.sub(rb'"\1": 0', answer.body))


def headers_of(answer: Answer) -> list[tuple[str, str]]:
    changing = ("date", "content-length", "x-streamweir-run", "content-location")
    return sorted((key, value) for key, value in answer.headers if key not in changing)


DEATHS: Final[list[Any]] = [cut_after, ended_after, reset_after, silent_after]


@pytest.mark.parametrize("stream", OPENED, ids=lambda stream: stream.dialect)
@pytest.mark.parametrize("dies", DEATHS)
async def test_stream_that_dies_behind_its_opening_is_followed_by_the_next_unseen(
    stream: Opened, dies: Any
) -> None:
    if dies is ended_after and may_end_behind(stream):
        pytest.skip("the end of the body is an end of this dialect")
    first_event = "1s" if dies is silent_after else "5s"  # some openings hold no event
    async with (
        upstream(dies(stream.opening, stream.media_type)) as first,
        upstream(ended_after(stream.body, stream.media_type)) as second,
        gateway(of_both(stream, first.url, second.url, first_event=first_event)) as running,
    ):
        modes = modes_of(stream, dies)
        for number, (mode, (_, accept, _options)) in enumerate(modes):
            alone = await ask(running, target=path("alone", mode), headers=request(2 * number, accept))
            expected = await running.log.next_line()
            with case(mode):
                got = await ask(running, target=path("both", mode), headers=request(2 * number + 1, accept))
                line = await running.log.next_line()
                assert got.is_whole
                assert plain(got) == plain(alone)
                assert headers_of(got) == headers_of(alone)
                assert line["attempts"] == 2
                assert {key: line.get(key) for key in SAME} == {key: expected.get(key) for key in SAME}
        assert first.connections == len(modes)


def modes_of(stream: Opened, dies: Any) -> list[tuple[str, Any]]:
    """All modes for one dialect, and for each of the others two that change from case to case."""
    if stream.dialect == "legacy":
        return [*MODES.items()]
    case_number = OPENED.index(stream) + DEATHS.index(dies)
    return [mode for place, mode in enumerate(MODES.items()) if (place - case_number) % len(MODES) < 2]


def of_both(
    stream: Opened, *urls: str, retries: dict[str, Any] | None = None, first_event: str = "5s"
) -> Any:
    names = {f"u{place}": url for place, url in enumerate(urls)}
    upstreams = {
        name: {"url": url, "speaks": stream.dialect, "breaker": "off", "retries": retries or {}}
        for name, url in names.items()
    }
    endpoints = {}
    timeouts = {"connect": first_event, "first_event": first_event, "idle": "300ms"}
    for mode, (is_verbatim, _, options) in MODES.items():
        answers = [stream.dialect if is_verbatim and can_write(stream.dialect) else "standard"]
        shared = {"answers": answers, "timeouts": timeouts, **options}
        endpoints[path("both", mode)] = {"upstream": [*names], **shared}
        endpoints[path("alone", mode)] = {"upstream": [*names][-1], **shared}
    return settled(upstreams=upstreams, endpoints=endpoints)


def may_end_behind(stream: Opened) -> bool:
    """The end of the body is evidence of the end of the stream."""
    scout = StreamNormalizer(StreamReader(stream.dialect), Pipeline((), request_id="req_0"))
    scout.feed(stream.opening)
    scout.close()
    return scout.pipeline.error is None


def can_write(dialect: str) -> bool:
    found = process_dialects().get(dialect)
    return found is not None and found.encoder is not None


def first_output_in(stream: Opened, frames: bytes) -> FirstOutput | None:
    reader = StreamReader(stream.dialect)
    for data in (stream.opening, frames):
        for _ in reader.feed(data):
            pass
    return reader.first_output


FAILING: Final = [
    (stream, code)
    for stream in OPENED
    for code in ("RATE_LIMITED", "UPSTREAM_ERROR")
    if failure_in(stream.dialect, code)
]


@pytest.mark.parametrize(
    ("stream", "code"), FAILING, ids=[f"{each.dialect}-{code}" for each, code in FAILING]
)
async def test_error_event_before_any_output_is_final_unless_the_upstream_asks_to_come_back(
    stream: Opened, code: str
) -> None:
    frames = failure_in(stream.dialect, code)
    found = first_output_in(stream, frames)
    assert found is not None
    assert found.status == (429 if found.error is not None and found.error.code == "RATE_LIMITED" else None)
    async with (
        upstream(ended_after(stream.opening + frames, stream.media_type)) as first,
        upstream(ended_after(stream.body, stream.media_type)) as second,
        gateway(of_both(stream, first.url, second.url)) as running,
    ):
        for number, (mode, (_, accept, _options)) in enumerate(MODES.items()):
            with case(mode):
                got = await ask(running, target=path("both", mode), headers=request(number, accept))
                line = await running.log.next_line()
                assert got.is_whole
                assert (line["attempts"], line["reason"]) == (
                    (2, "done") if found.status else (1, "upstream_error")
                )
        assert second.connections == (len(MODES) if found.status else 0)


def legacy(*urls: str, retries: dict[str, Any] | None = None, **options: Any) -> Any:
    """`/chat` before upstreams of the old vocabulary, in this order."""
    upstreams = {
        f"u{place}": {"url": url, "speaks": "legacy", "retries": {"backoff": "1ms", **(retries or {})}}
        for place, url in enumerate(urls)
    }
    timeouts = {"idle": "300ms", "first_event": "5s"}
    return settled(
        upstreams=upstreams, endpoints={"/chat": {"upstream": [*upstreams], "timeouts": timeouts, **options}}
    )


OPENS: Final = b'data: {"type": "session_start", "session_id": "s-first"}\n\n'
BUSY: Final = b'data: {"type": "error", "error": {"message": "m", "code": "overloaded_error"}}\n\n'
OFTEN: Final = b'data: {"type": "error", "error": {"message": "m", "code": "rate_limit_exceeded"}}\n\n'
HELLO_AGAIN: Final = SSE + chunk(OPENS) + b"".join(map(chunk, HELLO)) + LAST_CHUNK


def in_turn(*scripts: bytes) -> Script:
    """Play one script after the other, the last one again and again."""
    left = [*scripts]

    async def play(call: Call) -> None:
        await call.send(left.pop(0) if len(left) > 1 else left[0])

    return play


@pytest.mark.parametrize(("error", "status"), [(BUSY, 503), (OFTEN, 429)])
@pytest.mark.parametrize("is_last", [False, True])
async def test_error_of_a_busy_upstream_is_retried_if_its_status_is_listed(
    error: bytes, status: int, *, is_last: bool
) -> None:
    failing = SSE + chunk(OPENS + error) + LAST_CHUNK
    for causes in (["connect", status], ["connect"]):
        script = failing if is_last else in_turn(failing, HELLO_AGAIN)
        retries = {"attempts": 2, "on": causes}
        async with upstream(script) as one, gateway(legacy(one.url, retries=retries)) as running:
            got = (await ask(running)).assert_valid()
            line = await running.log.next_line()
            assert one.connections == line["attempts"] == len(causes)
            if is_last or len(causes) == 1:
                assert got.types == ["session_start", "error", "session_end"]
                assert got.events[0]["data"]["session_id"] == "s-first"
            else:
                assert got.text == "Hello"
                assert ("hint" in line, line["reason"]) == (True, "done")


async def test_error_event_that_asks_to_wait_long_is_final() -> None:
    waits = b'data: {"type": "error", "error": {"code": "rate_limit_exceeded", "retry_after": 60}}\n\n'
    failing = SSE + chunk(OPENS + waits) + LAST_CHUNK
    retries = {"attempts": 3}
    async with upstream(failing) as one, gateway(legacy(one.url, retries=retries)) as running:
        got = (await ask(running)).assert_valid()
        assert one.connections == 1
        assert got.error is not None
        assert got.error["code"] == "RATE_LIMITED"


@pytest.mark.parametrize(
    "behind", [HELLO[0], b'data: {"type": "tool_call", "tool_id": "t", "tool_name": "n"}\n\n']
)
async def test_stream_that_dies_behind_its_first_output_is_not_followed(behind: bytes) -> None:
    first = SSE + chunk(OPENS + behind)
    async with upstream(first) as one, upstream(WHOLE) as two, gateway(legacy(one.url, two.url)) as running:
        got = (await ask(running)).assert_valid()
        assert got.end["reason"] == "truncated"
        assert (one.connections, two.connections) == (1, 0)


async def test_same_upstream_is_never_asked_again_for_a_stream_that_began() -> None:
    dying = SSE + chunk(OPENS)
    async with upstream(dying) as one, gateway(legacy(one.url, retries={"attempts": 3})) as running:
        got = (await ask(running)).assert_valid()
        line = await running.log.next_line()
        assert (one.connections, line["attempts"]) == (1, 1)
        assert got.types == ["session_start", "error", "session_end"]
        assert got.events[0]["data"]["session_id"] == "s-first"


async def test_streams_that_die_behind_their_opening_open_the_breaker() -> None:
    dying = SSE + chunk(OPENS)
    breaker = {"failures": 2, "open_for": "30s"}
    async with upstream(dying) as one:
        config = settled(
            upstreams={"u": {"url": one.url, "speaks": "legacy", "breaker": breaker}},
            endpoints={"/chat": {"upstream": "u"}},
        )
        async with gateway(config) as running:
            codes = [(await ask(running)).error for _ in range(3)]
        assert [code and code["code"] for code in codes] == [
            *["UPSTREAM_TRUNCATED"] * 2,
            "UPSTREAM_UNREACHABLE",
        ]
        assert one.connections == 2


async def test_trial_closes_the_breaker_with_its_first_output_alone() -> None:
    dying = SSE + chunk(OPENS)
    breaker = {"failures": 1, "open_for": "1ms"}
    script = in_turn(dying, dying, HELLO_AGAIN)
    async with upstream(script) as one:
        config = settled(
            upstreams={"u": {"url": one.url, "speaks": "legacy", "breaker": breaker}},
            endpoints={"/chat": {"upstream": "u"}},
        )
        async with gateway(config) as running:
            for expected in ("truncated", "truncated", "done", "done"):
                assert (await ask(running)).end["reason"] == expected
                await anyio.sleep(0.01)


@pytest.mark.parametrize("retries", [{}, {"attempts": 2, "on": ["connect"]}])
async def test_stream_of_a_single_upstream_begins_with_its_opening(retries: dict[str, Any]) -> None:
    shown = anyio.Event()

    async def wait(call: Call) -> None:
        await call.send(SSE, chunk(OPENS))
        await shown.wait()
        await call.send(*map(chunk, HELLO), LAST_CHUNK)

    async with (
        upstream(wait) as one,
        gateway(legacy(one.url, retries=retries)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"s-first")
        shown.set()
        assert (await connected.whole()).assert_valid().text == "Hello"


async def test_opening_is_held_back_while_another_upstream_may_be_asked() -> None:
    options: dict[str, Any] = {"heartbeat": "50ms", "timeouts": {"idle": "30s"}}
    waited = anyio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE, chunk(OPENS))
        await waited.wait()
        await call.send(*map(chunk, HELLO), LAST_CHUNK)

    async with (
        upstream(slow) as one,
        upstream(WHOLE) as two,
        gateway(legacy(one.url, two.url, **options)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b": ping\n: ping\n")
        waited.set()
        got = (await connected.whole()).assert_valid()
        assert got.body.partition(b"data:")[0].count(b": ping") > 1
        assert got.events[0]["data"]["session_id"] == "s-first"
        assert two.connections == 0


async def test_opening_larger_than_an_event_is_no_longer_held_back() -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE)
        while True:
            await call.send(chunk(OPENS * 20))

    limits = {"event_bytes": "16KiB", "stream_bytes": "1MiB"}
    async with (
        upstream(endless) as one,
        upstream(WHOLE) as two,
        gateway(legacy(one.url, two.url, limits=limits)) as running,
    ):
        got = (await ask(running)).assert_valid()
        assert got.end["reason"] == "limit"
        assert got.events[0]["data"]["session_id"] == "s-first"
        assert two.connections == 0


async def test_opening_with_soft_evidence_of_the_end_is_a_whole_stream() -> None:
    done = SSE + chunk(OPENS + b"data: [DONE]\n\n")
    for script in (done, done + LAST_CHUNK):
        async with (
            upstream(script) as one,
            upstream(WHOLE) as two,
            gateway(legacy(one.url, two.url)) as running,
        ):
            assert (await ask(running)).assert_valid().end["reason"] == "done"
            assert two.connections == 0


async def test_client_that_leaves_during_the_opening_leaves_the_upstream() -> None:
    async with (
        upstream(silent_after(OPENS, "text/event-stream")) as one,
        upstream(WHOLE) as two,
        gateway(legacy(one.url, two.url, timeouts={"idle": "30s"})) as running,
        client(running) as connected,
    ):
        connected.send()
        await one.called.wait()
        await anyio.sleep(0.1)
        connected.leave()
        with anyio.fail_after(PROMPTLY):
            await one.call.closed.wait()
        assert (await running.log.next_line())["reason"] == "client_gone"
        assert two.connections == 0


async def test_taps_see_the_events_of_the_chosen_attempt_alone() -> None:
    class Seen(EventTap):
        def __init__(self) -> None:
            self.events: list[Event] = []
            self.attempts: list[tuple[int, str | None]] = []
            self.is_finished = False

        def write(self, event: Event, stamp: Stamp) -> None:
            assert stamp.sequence == len(self.events)
            self.events.append(event)

        def attempt_ended(self, attempt: int, code: str | None) -> None:
            self.attempts.append((attempt, code))

        def finish(self) -> None:
            self.is_finished = True

    tap = Seen()
    async with (
        upstream(SSE + chunk(OPENS)) as one,
        upstream(WHOLE) as two,
        gateway(legacy(one.url, two.url), taps=[lambda _scope: tap]) as running,
    ):
        (await ask(running)).assert_valid()
    await until(lambda: tap.is_finished)
    assert [event.type for event in tap.events] == [
        "session_start",
        "content",
        "content",
        "content",
        "session_end",
    ]
    assert "s-first" not in str(tap.events)
    assert tap.attempts == [(1, "UPSTREAM_TRUNCATED"), (2, None)]
