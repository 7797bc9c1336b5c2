"""A client of the upstream's own dialect gets each failure as the table of failures says, in each dialect.

Source: the standard protocol 1.1, section 8.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from cases import case
from failing_upstreams import DOCUMENT, REFUSAL, STREAMS, native, plays, refuses
from faulty_upstreams import FIRST_EVENT_SOON, IDLE_SOON, SILENT_SOON
from loopback import Answer, Gateway, ask, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import upstream
from streamweir import Translator, convert
from streamweir.codec.registry import process_dialects
from streamweir.errors import CODES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KINDS: Final = ("plain", "tree", "resume", "relay")

# The gateway

OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {},
    "tree": {"request": {"question": "${{ message }}"}},
    "resume": {"resume": "on"},
}


UNENDING: Final = {"silent": FIRST_EVENT_SOON, "stalls": IDLE_SOON}
"""The rows that end by a timeout, which is short. On a busy machine it would end other rows too."""


@asynccontextmanager
async def in_front(dialect: str, **options: Any) -> AsyncIterator[Gateway]:
    """A gateway with one endpoint of each kind, in front of an upstream that speaks a dialect."""
    common = {
        "speaks": dialect,
        "answers": [dialect, "standard"],
        "limits": {"event_bytes": "64KiB"},
        **options,
    }
    async with upstream(lambda call: plays(call, dialect)) as server:
        endpoints: dict[str, Any] = {
            f"/{kind}/{{row}}": {"upstream": "service", "path": "/{row}", **common, **special}
            for kind, special in OPTIONS.items()
        }
        endpoints |= {
            f"/{kind}/{row}": {
                "upstream": "service",
                "path": f"/{row}",
                "timeouts": timeouts,
                **common,
                **special,
            }
            for kind, special in OPTIONS.items()
            for row, timeouts in UNENDING.items()
        }
        endpoints["/relay/*"] = {"upstream": "service", "relay": "all", "timeouts": SILENT_SOON, **common}
        endpoints["/gone"] = {"upstream": "http://127.0.0.1:9", **common}
        config = settled(endpoints=endpoints, upstreams={"service": {"url": server.url, "breaker": "off"}})
        async with gateway(config) as running:
            yield running


BODY: Final = b'{"message": "Hi", "messages": [{"role": "user", "content": "Hi"}], "stream": true}'


async def got(running: Gateway, kind: str, row: str, *headers: tuple[str, str]) -> Answer:
    wish = [("Content-Type", "application/json"), *headers]
    return await ask(running, target=f"/{kind}/{row}", headers=wish, body=BODY)


async def got_of_each(running: Gateway, kinds: Sequence[str], row: str) -> list[tuple[str, Answer]]:
    """The answer of each kind of endpoint, asked side by side: some rows take the time of a clock."""
    answers = await asyncio.gather(*(got(running, kind, row) for kind in kinds))
    return [*zip(kinds, answers, strict=True)]


async def codes_of_lines(running: Gateway, count: int) -> set[str]:
    """The codes in the next lines of the log."""
    return {(await running.log.next_line())["code"] for _ in range(count)}


def told_message(dialect: str, code: str) -> str:
    """The message in the safe body of a refusal: the dialect's own, redacted, if it is written for users."""
    is_for_users = dialect == "data-formulator"
    return "could not open [redacted] for [redacted]" if is_for_users else message_of(code)


def message_of(code: str) -> str:
    return CODES[code].message


@pytest.mark.parametrize("dialect", STREAMS)
async def test_error_status_of_the_upstream_reaches_the_client(dialect: str) -> None:
    codes = {400: "UPSTREAM_REJECTED", 401: "AUTH_FAILED", 403: "AUTH_FAILED", 404: "NOT_FOUND"}
    codes |= {408: "UPSTREAM_TIMEOUT", 429: "RATE_LIMITED", 500: "UPSTREAM_ERROR", 504: "UPSTREAM_TIMEOUT"}
    async with in_front(dialect) as running:
        for kind in KINDS:
            for status, code in {**codes, 503: "UPSTREAM_ERROR", 599: "UPSTREAM_ERROR"}.items():
                with case(kind, status):
                    answer = await got(running, kind, f"refuses~{status}")
                    assert (answer.status, answer.is_whole) == (status, True)
                    assert answer.header("content-type") == "application/json; v=2"
                    assert answer.header("retry-after") == "7"
                    assert answer.header("www-authenticate") == "Bearer"
                    expected = json.loads(json.dumps(REFUSAL))
                    if kind != "relay":
                        expected["error"]["message"] = told_message(dialect, code)
                        assert answer.header("content-length") == str(len(answer.body))
                    assert answer.json == expected
                    line = await running.log.next_line()
                    assert line["status"] == status
                    if kind != "relay":
                        assert line["code"] == ("E_TOO_MUCH" if code == "UPSTREAM_ERROR" else code)
                        assert line["upstream_status"] == status
                        assert line["hint"].startswith(f"the upstream answered {status}")


@pytest.mark.parametrize("dialect", STREAMS)
async def test_body_of_a_refusal_that_cannot_be_made_safe_is_replaced_or_left_out(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamweir_gateway.runs.response_classification.MAX_BODY_SECONDS", 1.0)
    nested = b"[" * 100 + b"]" * 100
    message = message_of("UPSTREAM_ERROR").encode()
    rows = {
        "text~text.plain": (503, b"text/plain", message),
        "text~text.html": (503, b"text/html", message),
        "text~application.octet-stream": (503, b"application/octet-stream", b""),
        "deep~100": (500, b"application/json", nested),
        "deep~101": (500, b"application/json", b""),
        "bad-type": (500, b"application/json", b'{"a": 1}'),
        "endless~80000": (500, b"application/json", b""),
        "endless~10": (500, b"application/json", b""),
    }
    kinds = ("plain", "tree", "resume")
    async with in_front(dialect) as running:
        asked = [(kind, row) for kind in kinds for row in rows]
        # side by side: the body of an error is waited for
        answers = await asyncio.gather(*(got(running, kind, row) for kind, row in asked))
        for (kind, row), answer in zip(asked, answers, strict=True):
            status, media_type, body = rows[row]
            with case(kind, row):
                assert (answer.status, answer.is_whole, answer.body) == (status, True, body)
                assert answer.header("content-type") == media_type.decode()
        for kind in kinds:
            answer = await got(running, kind, "gzip")
            assert answer.json["error"]["message"] == told_message(dialect, "UPSTREAM_ERROR")
            assert answer.header("content-encoding") is None


@pytest.mark.parametrize("dialect", STREAMS)
async def test_document_in_place_of_a_stream_reaches_the_client_unchanged(dialect: str) -> None:
    async with in_front(dialect) as running:
        for kind in KINDS:
            for status in (200, 201, 202):
                for accept in ("*/*", "application/json", "text/event-stream", "application/x-ndjson"):
                    if kind == "resume" and accept == "text/event-stream":
                        continue  # a stored run is written anew
                    with case(kind, status, accept):
                        answer = await got(running, kind, f"document~{status}", ("Accept", accept))
                        assert (answer.status, answer.is_whole) == (status, True)
                        assert answer.body == DOCUMENT
                        assert answer.header("content-type") == "application/json; v=3"


BEFORE_ANYTHING: Final = {
    "silent": "UPSTREAM_TIMEOUT",
    "closes": "UPSTREAM_UNREACHABLE",
    "nothing": "UPSTREAM_TRUNCATED",
    "no-chunk": "UPSTREAM_TRUNCATED",
    "page": "UPSTREAM_INVALID_RESPONSE",
    "says~text.plain": "UPSTREAM_INVALID_RESPONSE",
    "redirect~302": "UPSTREAM_INVALID_RESPONSE",
    "redirect~204": "UPSTREAM_INVALID_RESPONSE",
    "redirect~206": "UPSTREAM_INVALID_RESPONSE",
    "coding": "UPSTREAM_INVALID_RESPONSE",
}


def assert_envelope(answer: Answer, code: str, dialect: str) -> None:
    assert (answer.status, answer.is_whole) == (CODES[code].status, True)
    assert answer.header("content-type") == "application/json"
    if process_dialects().to_write(dialect).name in ("openai-chat", "openai-responses", "anthropic"):
        assert answer.json["error"]["message"] == message_of(code)
    else:
        error = {"code": code, "message": message_of(code), "retry": CODES[code].recoverable}
        assert (answer.json["status"], answer.json["error"]) == ("error", error)


@pytest.mark.parametrize("dialect", STREAMS)
async def test_failure_before_the_first_byte_is_a_status_and_an_envelope(dialect: str) -> None:
    async with in_front(dialect) as running:
        for row, code in BEFORE_ANYTHING.items():
            for kind, answer in await got_of_each(running, tuple(OPTIONS), row):
                with case(kind, row):
                    assert_envelope(answer, code, dialect)
            assert await codes_of_lines(running, len(OPTIONS)) == {code}
        gone = await ask(running, target="/gone", body=BODY, headers=[("Content-Type", "application/json")])
        assert_envelope(gone, "UPSTREAM_UNREACHABLE", dialect)


def error_of(answer: Answer, dialect: str) -> str:
    """The message of the error that a reader of the dialect finds in an answer."""
    translator = Translator(speaks=dialect, framing="ndjson")
    out = translator.feed(answer.body) + translator.close()
    assert translator.error is not None, answer.body
    assert out
    return translator.error.message


GOOD_ENDS: Final = re.compile(
    rb'message_end|workflow_finished|"finish_reason":"|"type":"finish|\[DONE\]|message_stop|RUN_FINISHED'
    rb'|response.completed|"type": ?"done"|"type": ?"completion"'
)

BREAKS: Final = {
    "breaks": "UPSTREAM_TRUNCATED",
    "breaks-at-once": "UPSTREAM_TRUNCATED",
    "resets": "UPSTREAM_TRUNCATED",
    "stalls": "UPSTREAM_TIMEOUT",
    "floods": "STREAM_LIMIT_EXCEEDED",
}


@pytest.mark.parametrize("dialect", STREAMS)
async def test_break_within_the_stream_is_an_error_and_a_broken_connection(dialect: str) -> None:
    stream = native(dialect)
    async with in_front(dialect) as running:
        for row, code in BREAKS.items():
            for kind, answer in await got_of_each(running, KINDS, row):
                with case(kind, row):
                    assert answer.status == 200
                    assert answer.header("content-type") == stream.media_type
                    assert answer.body.startswith(stream.begun)
                    error_of(answer, dialect)
                    assert answer.is_whole is (kind == "resume")  # there the client may come back
                    if kind != "resume":
                        assert not GOOD_ENDS.search(answer.body[len(stream.begun) :])
            assert await codes_of_lines(running, len(KINDS)) == {code}


@pytest.mark.parametrize("dialect", STREAMS)
async def test_proper_end_stays_proper(dialect: str) -> None:
    stream = native(dialect)
    async with in_front(dialect) as running:
        for kind in KINDS:
            with case(kind):
                early = await got(running, kind, "ends-early")
                assert (early.status, early.is_whole) == (200, True)
                if early.body != stream.begun:  # some dialects end with the body
                    assert early.body.startswith(stream.begun)
                    error_of(early, dialect)
                failed = await got(running, kind, "fails")
                assert (failed.status, failed.is_whole) == (200, True)
                error_of(failed, dialect)
                broken = await got(running, kind, "fails-and-breaks")
                assert broken.status == 200
                assert broken.is_whole is (kind == "resume")
                error_of(broken, dialect)
                for status in (200, 201, 202):
                    whole = await got(running, kind, f"completes~{status}")
                    assert (whole.status, whole.is_whole) == (status, True)
                    assert whole.body == stream.whole
                    assert whole.header("content-type") == stream.media_type


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
async def test_client_that_wants_no_stream_gets_the_answer_of_its_upstream(dialect: str) -> None:
    body = b'{"messages": [], "input": "Hi", "stream": false}'
    wish = [("Content-Type", "application/json"), ("Accept", "*/*")]
    async with in_front(dialect) as running:
        for kind in ("plain", "relay"):
            with case(kind):
                whole = await ask(running, target=f"/{kind}/answers-whole", body=body, headers=wish)
                sent = convert(native(dialect).whole, speaks=dialect, answers=dialect, framing="json")
                assert (whole.status, whole.header("content-type")) == (200, "application/json; v=3")
                assert whole.json.keys() == json.loads(sent).keys()
                assert b"Hello world" in whole.body
                refused = await ask(running, target=f"/{kind}/refuses~429", body=body, headers=wish)
                assert (refused.status, refused.header("retry-after")) == (429, "7")
                assert refused.json["error"]["code"] == "E_TOO_MUCH"


async def test_detected_dialect_is_as_good_as_a_configured_one() -> None:
    async with in_front("legacy", speaks="auto") as running:
        for row, status in {"refuses~429": 429, "nothing": 502, "page": 502, "document~202": 202}.items():
            with case(row):
                answer = await got(running, "plain", row, ("Accept", "text/event-stream"))
                assert (answer.status, answer.is_whole) == (status, True)
        broken = await got(running, "plain", "breaks")
        assert (broken.status, broken.is_whole) == (200, False)
        error_of(broken, "legacy")


@pytest.mark.parametrize("dialect", STREAMS)
async def test_failures_as_events_are_errors_in_a_body_that_ends_properly(dialect: str) -> None:
    reports_by_status = dialect in ("openai-chat", "openai-responses", "anthropic")
    async with in_front(dialect, failures="told") as running:
        for row in ("refuses~500", "closes", "nothing", "page", *BREAKS):
            with case(row):
                answer = await got(running, "plain", row)
                assert answer.is_whole
                if row not in BREAKS and reports_by_status:
                    assert answer.status == 502
                else:
                    assert answer.status == 200
                    error_of(answer, dialect)


@pytest.mark.parametrize("dialect", STREAMS)
async def test_other_clients_of_the_endpoint_get_an_error_event(dialect: str) -> None:
    async with in_front(dialect) as running:
        for row in ("refuses~500", "closes", "nothing", "page", "breaks", "ends-early", "fails"):
            with case(row):
                answer = await got(running, "plain", row, ("X-Streamweir-Protocol", "standard"))
                assert answer.status == 200
                if row != "ends-early" or answer.error is not None:
                    assert answer.assert_valid().end["status"] == "error"


@pytest.mark.parametrize("dialect", STREAMS)
async def test_heartbeat_of_the_file_takes_the_status(dialect: str) -> None:
    async with in_front(dialect, heartbeat="100ms") as beating, in_front(dialect, heartbeat="auto") as other:
        answer, late = await asyncio.gather(*(got(at, "plain", "silent") for at in (beating, other)))
        assert (answer.status, answer.is_whole) == (200, False)
        error_of(answer, dialect)
        assert late.status == 504


# Clients, and how the connection ends


@pytest.mark.parametrize("dialect", STREAMS)
async def test_client_of_http_1_0_gets_every_frame_and_a_plain_close(dialect: str) -> None:
    stream = native(dialect)
    async with in_front(dialect) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        writer.write(
            b"POST /plain/breaks HTTP/1.0\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
        )
        async with asyncio.timeout(PROMPTLY):
            answer = await reader.read()  # a reset would raise
        writer.close()
        assert stream.begun in answer
        assert len(answer.partition(stream.begun)[2]) > 20


async def test_frames_that_a_slow_client_has_not_read_are_not_lost() -> None:
    stream = native("legacy")
    async with in_front("legacy") as running, client(running) as connected:
        connected.send(target="/plain/breaks", headers=[("Content-Type", "application/json")], body=BODY)
        await connected.until(stream.begun[:20])
        connected.stop_reading()
        await running.log.next_line()
        await asyncio.sleep(0.1)
        connected.read_on()
        answer = await connected.whole()
    assert not answer.is_whole
    assert answer.body.startswith(stream.begun)
    error_of(answer, "legacy")


async def test_client_that_leaves_while_the_connection_is_broken_off_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with in_front("legacy") as running:
        for _ in range(5):
            async with client(running) as connected:
                connected.send(
                    target="/plain/resets", headers=[("Content-Type", "application/json")], body=BODY
                )
                await connected.until(b"world")
                await asyncio.sleep(0.045)
        for _ in range(5):
            line = await running.log.next_line()
            assert line["reason"] in ("truncated", "client_gone")
    assert not [record for record in caplog.records if record.exc_info]


async def test_drain_in_mid_stream_breaks_off_for_old_clients_and_is_an_error_for_others() -> None:
    async with in_front("legacy", timeouts={}) as running, client(running) as old, client(running) as new:
        wish = [("Content-Type", "application/json")]
        old.send(target="/plain/stalls", headers=wish, body=BODY)
        new.send(target="/plain/stalls", headers=[*wish, ("X-Streamweir-Protocol", "standard")], body=BODY)
        await old.until(b"world")
        await new.until(b"world")
        running.streams.drain()
        broken, told = await old.whole(), await new.whole()
    assert not broken.is_whole
    assert error_of(broken, "legacy")
    assert b"GATEWAY_DRAINING" in broken.body
    assert told.assert_valid().end["reason"] == "draining"


# Credentials


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_of_the_gateway_are_no_status_for_the_client(status: int) -> None:
    async with upstream(lambda call: refuses(call, native("legacy"), str(status))) as server:
        common = {"upstream": server.url, "speaks": "legacy", "answers": ["legacy"]}
        keys = ("Authorization", "Cookie", "X-Api-Key", "Ocp-Apim-Subscription-Key")
        endpoints: dict[str, Any] = {
            f"/{name}": {**common, "headers": {name: "secret-4711-abcd"}} for name in (*keys, "X-Tenant")
        }
        endpoints["/client"] = {**common, "forward_headers": ["Authorization"]}
        async with gateway(settled(endpoints=endpoints)) as running:
            for name in keys:
                with case(name):
                    answer = await ask(running, target=f"/{name}")
                    assert (answer.status, answer.header("www-authenticate")) == (502, None)
            for path in ("/X-Tenant", "/client"):
                with case(path):
                    answer = await ask(running, target=path, headers=[("Authorization", "Bearer x")])
                    assert (answer.status, answer.header("www-authenticate")) == (status, "Bearer")
