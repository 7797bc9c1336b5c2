"""Broken upstreams: each fault gives a valid stream with the right code and reason."""

import asyncio
import gzip
import json
import socket
import zlib
from typing import Any

import pytest

from faulty_upstreams import FIRST_EVENT_SOON, IDLE_SOON, PATIENT
from loopback import Answer, ask, gateway, one_endpoint, relayed
from patience import PROMPTLY
from scripted_upstream import (
    CLOSE_DELIMITED,
    HELLO,
    LAST_CHUNK,
    SSE,
    WHOLE,
    Call,
    Script,
    answer,
    chunk,
    upstream,
)
from streamweir.translation import clock
from streamweir_gateway.runs import response_classification
from streamweir_gateway.upstream.client import TRANSPORTS

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["auto", "httpcore"], autouse=True)
def _over_each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSPORTS, "auto", TRANSPORTS[request.param])


TOKEN, _, DONE = HELLO


def failure(got: Answer) -> tuple[str, str]:
    """Return the code and the reason of a failed stream."""
    got.assert_valid()
    assert got.status == 200
    assert got.error is not None
    assert got.end["status"] == "error"
    return got.error["code"], got.end["reason"]


async def failing(script: Script | bytes, **options: Any) -> tuple[str, str]:
    return failure(await relayed(script, **{"timeouts": PATIENT, **options}))


# --- no response --------------------------------------------------------------------------------------------


async def test_refused_connection_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with gateway(one_endpoint(f"http://127.0.0.1:{port}")) as running:
        assert failure(await ask(running)) == ("UPSTREAM_UNREACHABLE", "upstream_unreachable")


async def test_unknown_host_is_unreachable() -> None:
    async with gateway(one_endpoint("http://does-not-exist.invalid")) as running:
        assert failure(await ask(running)) == ("UPSTREAM_UNREACHABLE", "upstream_unreachable")


async def test_broken_tls_is_unreachable() -> None:
    async with (
        upstream(b"nonsense", reads_request=False) as server,
        gateway(one_endpoint(server.url.replace("http:", "https:"))) as running,
    ):
        assert failure(await ask(running)) == ("UPSTREAM_UNREACHABLE", "upstream_unreachable")


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/ev"])
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_close_within_the_headers_is_unreachable_and_not_retried(part: bytes, method: str) -> None:
    async with upstream(part) as server, gateway(one_endpoint(server.url, methods=[method])) as running:
        got = await ask(running, method, body=b"")
        assert failure(got) == ("UPSTREAM_UNREACHABLE", "upstream_unreachable")
        assert server.connections == 1, "an agent must not run twice"


async def test_reset_before_the_headers_is_unreachable() -> None:
    async def reset(call: Call) -> None:
        call.reset()

    assert await failing(reset) == ("UPSTREAM_UNREACHABLE", "upstream_unreachable")


async def test_connection_that_takes_too_long_is_a_connect_timeout() -> None:
    # With a full backlog the kernel lets further connections wait.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        full.listen(0)
        waiting = []
        for _ in range(4):
            blocked = socket.socket()
            blocked.setblocking(False)
            blocked.connect_ex(full.getsockname())
            waiting.append(blocked)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        async with gateway(one_endpoint(url, timeouts={**PATIENT, "connect": "300ms"})) as running:
            got = await ask(running)
        for blocked in waiting:
            blocked.close()
    assert failure(got) == ("UPSTREAM_TIMEOUT", "connect_timeout")


@pytest.mark.parametrize(
    "junk",
    [
        b"this is no HTTP at all\r\n\r\n",
        b"HTTP/1.1 2000 Fine\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    ],
)
async def test_bytes_that_are_no_http_are_an_invalid_response(junk: bytes) -> None:
    assert await failing(junk) == ("UPSTREAM_INVALID_RESPONSE", "malformed")


# --- timeouts -----------------------------------------------------------------------------------------------


def then_silent(*pieces: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.send(*pieces)
        await call.until_closed()

    return script


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [(), (SSE,), (SSE, chunk(b": comment\n\n"))])
async def test_first_event_timeout_ends_a_silent_response(pieces: tuple[bytes, ...]) -> None:
    got = await failing(then_silent(*pieces), timeouts=FIRST_EVENT_SOON)
    assert got == ("UPSTREAM_TIMEOUT", "first_event_timeout")


async def test_comments_do_not_stop_the_first_event_timeout() -> None:
    async def commenting(call: Call) -> None:
        await call.send(SSE)
        await call.send(*[chunk(b": comment\n\n")] * 100, pause=0.05)

    got = await failing(commenting, timeouts=FIRST_EVENT_SOON)
    assert got == ("UPSTREAM_TIMEOUT", "first_event_timeout")


async def test_idle_timeout_ends_a_silent_stream() -> None:
    got = await relayed(then_silent(SSE, chunk(TOKEN)), timeouts=IDLE_SOON)
    assert failure(got) == ("UPSTREAM_TIMEOUT", "idle_timeout")
    assert got.text == "Hel"


@pytest.mark.slow
async def test_comments_reset_the_idle_timeout() -> None:
    async def thinking(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await call.send(*[chunk(b": comment\n\n")] * 15, pause=0.1)
        await call.send(chunk(DONE), LAST_CHUNK)

    (await relayed(thinking, timeouts={**PATIENT, "idle": "1s"})).assert_valid()


async def test_total_timeout_ends_a_stream() -> None:
    async def dripping(call: Call) -> None:
        await call.send(SSE)
        await call.send(*[chunk(TOKEN)] * 100, pause=0.02)

    timeouts = dict.fromkeys(("connect", "first_event", "idle", "total"), "1s")
    assert await failing(dripping, timeouts=timeouts) == ("UPSTREAM_TIMEOUT", "total_timeout")


@pytest.mark.slow
async def test_slow_body_of_an_error_does_not_delay_it() -> None:
    head = b"HTTP/1.1 503 Unavailable\r\nContent-Length: 100\r\n\r\n{"
    async with asyncio.timeout(PROMPTLY):
        got = await failing(then_silent(head), timeouts={"first_event": "60s"})
    assert got == ("UPSTREAM_ERROR", "upstream_error")


@pytest.mark.slow
async def test_error_status_stops_the_first_event_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_classification, "MAX_BODY_SECONDS", 0.6)
    head = b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n{"
    got = await failing(then_silent(head), timeouts=FIRST_EVENT_SOON)
    assert got == ("NOT_FOUND", "upstream_error")


# --- bodies that break off ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "response",
    [
        SSE + chunk(TOKEN),
        SSE + b"ff\r\n" + TOKEN,
        SSE + chunk(TOKEN) + LAST_CHUNK,
        CLOSE_DELIMITED + TOKEN,
        CLOSE_DELIMITED + TOKEN + b'data: {"type": "tok',
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + TOKEN,
        b"HTTP/1.0 200 OK\r\n\r\n" + TOKEN,
    ],
)
async def test_body_without_its_end_is_truncated(response: bytes) -> None:
    got = await relayed(response)
    assert failure(got) == ("UPSTREAM_TRUNCATED", "truncated")
    assert got.text == "Hel"


async def test_reset_within_the_stream_is_truncated() -> None:
    async def breaking(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), pause=0.05)
        call.reset()

    assert await failing(breaking) == ("UPSTREAM_TRUNCATED", "truncated")


@pytest.mark.parametrize("body", [b"", b": comment\n\n"])
async def test_body_without_events_is_truncated(body: bytes) -> None:
    assert await failing(answer(body)) == ("UPSTREAM_TRUNCATED", "truncated")


async def test_broken_chunks_are_an_invalid_response() -> None:
    assert await failing(SSE + chunk(TOKEN) + b"zz\r\n") == ("UPSTREAM_INVALID_RESPONSE", "malformed")


@pytest.mark.parametrize("ending", [b"", b"5\r\nab", b"zz\r\n"])
async def test_events_that_came_with_the_break_count(ending: bytes) -> None:
    async def breaking(call: Call) -> None:
        await call.send(SSE, pause=0.05)
        await call.send(b"".join(map(chunk, HELLO)) + ending)

    got = (await relayed(breaking)).assert_valid()
    assert (got.text, got.end["status"]) == ("Hello", "completed")


async def test_events_that_came_before_a_reset_count() -> None:
    async def breaking(call: Call) -> None:
        await call.send(SSE + b"".join(map(chunk, HELLO)))
        call.reset()

    got = (await relayed(breaking)).assert_valid()
    assert (got.text, got.end["status"]) == ("Hello", "completed")


# --- soft evidence of the end -------------------------------------------------------------------------------

SOFT = chunk(TOKEN) + chunk(b"data: [DONE]\n\n")


@pytest.mark.parametrize("ending", [LAST_CHUNK, b"", b"5\r\nab"])
async def test_soft_evidence_before_the_end_of_the_body_is_complete(ending: bytes) -> None:
    got = (await relayed(SSE + SOFT + ending)).assert_valid()
    assert (got.end["status"], got.end["reason"]) == ("completed", "done")


async def test_silence_after_soft_evidence_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "SETTLE_SECONDS", 0.2)
    async with asyncio.timeout(PROMPTLY):
        got = (await relayed(then_silent(SSE, SOFT))).assert_valid()
    assert (got.end["status"], got.end["reason"]) == ("completed", "done")


async def test_silence_after_the_error_of_a_standard_upstream_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stream ends after the settling time, not after the idle timeout."""
    monkeypatch.setattr(clock, "SETTLE_SECONDS", 0.2)
    error = {"error_type": "timeout", "code": "UPSTREAM_TIMEOUT", "message": "x", "recoverable": True}
    event = {"type": "error", "data": {**error, "terminal": True}, "metadata": {}}
    script = then_silent(SSE, chunk(b"data: %b\n\n" % json.dumps(event).encode()))
    async with asyncio.timeout(PROMPTLY):
        got = await relayed(script, speaks="standard")
    assert failure(got) == ("UPSTREAM_TIMEOUT", "upstream_error")


# --- responses that are no stream ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("400 Bad Request", "UPSTREAM_REJECTED"),
        ("401 Unauthorized", "AUTH_FAILED"),
        ("403 Forbidden", "AUTH_FAILED"),
        ("404 Not Found", "NOT_FOUND"),
        ("408 Request Timeout", "UPSTREAM_TIMEOUT"),
        ("422 Unprocessable", "UPSTREAM_REJECTED"),
        ("429 Too Many Requests", "RATE_LIMITED"),
        ("500 Internal Server Error", "UPSTREAM_ERROR"),
        ("502 Bad Gateway", "UPSTREAM_ERROR"),
        ("503 Service Unavailable", "UPSTREAM_ERROR"),
        ("504 Gateway Timeout", "UPSTREAM_TIMEOUT"),
    ],
)
async def test_error_status_gives_its_code(status: str, code: str) -> None:
    body = b"<html>Traceback (most recent call last): /srv/app.py</html>"
    got = await relayed(answer(body, "Content-Type: text/html", status=status))
    assert failure(got) == (code, "upstream_error")
    assert got.types == ["session_start", "error", "session_end"]
    assert b"Traceback" not in got.body


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_retry_after_of_the_upstream_is_passed_on(status: str) -> None:
    got = (await relayed(answer(b"", "Retry-After: 3", status=status))).assert_valid()
    assert got.error is not None
    assert got.error["retry_after_ms"] == 3000


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        ("400 Bad Request", {"error": {"code": "context_length_exceeded"}}, "CONTEXT_LENGTH_EXCEEDED"),
        ("404 Not Found", {"error": {"message": "model not found"}}, "MODEL_NOT_FOUND"),
        ("429 Too Many Requests", {"error": {"code": "insufficient_quota"}}, "QUOTA_EXCEEDED"),
        ("500 Internal Server Error", {"detail": "boom"}, "UPSTREAM_ERROR"),
    ],
)  # fmt: skip
async def test_body_of_an_error_refines_its_code(status: str, error: object, code: str) -> None:
    got = await relayed(answer(json.dumps(error).encode(), "Content-Type: application/json", status=status))
    assert failure(got) == (code, "upstream_error")


async def test_error_in_the_dialect_keeps_its_message() -> None:
    envelope = {
        "status": "error",
        "error": {"code": "LLM_RATE_LIMIT", "message": "The model is busy.", "retry": True},
    }
    body = json.dumps(envelope).encode()
    for status in ("500 Internal Server Error", "200 OK"):
        script = answer(body, "Content-Type: application/json", status=status)
        got = await relayed(script, speaks="data-formulator")
        assert failure(got)[0] == "LLM_RATE_LIMIT"
        assert got.error is not None
        assert (got.error["message"], got.error["recoverable"]) == ("The model is busy.", True)


@pytest.mark.parametrize("forwarded", [True, False])
async def test_401_depends_on_whose_credentials_were_sent(forwarded: bool) -> None:
    headers = [("Accept", "application/json"), ("Authorization", "Bearer mine")]
    options = {"forward_headers": ["Authorization"]} if forwarded else {}
    got = await relayed(answer(b"", status="401 Unauthorized"), headers=headers, **options)
    assert (got.status, got.json["error"]["code"]) == (401 if forwarded else 502, "AUTH_FAILED")


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        answer(b"x", status="201 Created"),
        answer(b"x", status="206 Partial Content"),
        answer(b"x", "Content-Type: image/png"),
        answer(b"\n <!DOCTYPE html><html>Please log in</html>", "Content-Type: text/html"),
        answer(b"<html>", "Content-Type: text/event-stream"),
        answer(b"Internal error", "Content-Type: text/plain"),
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_response_that_is_no_stream_is_a_failure(response: bytes) -> None:
    assert await failing(response) == ("UPSTREAM_INVALID_RESPONSE", "malformed")


async def test_early_hints_are_skipped() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    (await relayed(early + WHOLE)).assert_valid()


async def test_redirects_are_not_followed() -> None:
    async with upstream(SSE) as elsewhere:
        moved = answer(b"", f"Location: {elsewhere.url}/", status="307 Temporary Redirect")
        assert await failing(moved) == ("UPSTREAM_INVALID_RESPONSE", "malformed")
        assert elsewhere.calls == []


# --- content codings ----------------------------------------------------------------------------------------


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"".join(HELLO), mtime=0)),
        ("x-gzip", gzip.compress(b"".join(HELLO), mtime=0)),
        ("gzip", gzip.compress(HELLO[0], mtime=0) + gzip.compress(HELLO[1] + HELLO[2], mtime=0) + b"\0\0"),
        ("deflate", zlib.compress(b"".join(HELLO))),
        ("deflate", raw_deflate(b"".join(HELLO))),
        ("identity", b"".join(HELLO)),
    ],
)
async def test_compressed_stream_is_decoded(coding: str, body: bytes) -> None:
    async def by_the_byte(call: Call) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n" % coding.encode())
        await call.send(*(body[index : index + 1] for index in range(len(body))))

    for script in (answer(body, f"Content-Encoding: {coding}"), by_the_byte):
        assert (await relayed(script)).assert_valid().text == "Hello"


async def test_flushed_compressed_event_leaves_at_once() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)

    async def flushing(call: Call) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        for event in HELLO:
            await call.send(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH), pause=0.1)

    got = (await relayed(flushing)).assert_valid()
    assert len(got.pieces) == 3


@pytest.mark.parametrize(
    ("coding", "body", "code"),
    [
        ("gzip", gzip.compress(TOKEN, mtime=0)[:-9], "UPSTREAM_TRUNCATED"),
        ("gzip", b"\x1f\x8b\x08 not gzip", "UPSTREAM_INVALID_RESPONSE"),
        ("gzip", TOKEN, "UPSTREAM_INVALID_RESPONSE"),
        ("deflate", b"\xff\xff\xff", "UPSTREAM_INVALID_RESPONSE"),
        ("zstd", b"x", "UPSTREAM_INVALID_RESPONSE"),
        ("gzip, gzip", b"x", "UPSTREAM_INVALID_RESPONSE"),
    ],
)
async def test_broken_coding_is_a_failure(coding: str, body: bytes, code: str) -> None:
    assert (await failing(answer(body, f"Content-Encoding: {coding}")))[0] == code


async def test_compressed_bomb_ends_at_the_limit() -> None:
    bomb = gzip.compress(b": " + b"x" * (1 << 20) + b"\n\n") * 300
    unhurried = {"first_event": "30s", "idle": "30s"}
    limits = {"stream_bytes": "8MiB"}
    got = await failing(answer(bomb, "Content-Encoding: gzip"), limits=limits, timeouts=unhurried)
    assert got == ("STREAM_LIMIT_EXCEEDED", "limit")


# --- limits and malformed events ----------------------------------------------------------------------------


async def test_malformed_event_is_a_warning() -> None:
    got = (await relayed(answer(TOKEN + b"data: {broken\n\n" + DONE))).assert_valid()
    assert got.types == ["session_start", "content", "warning", "content", "session_end"]


async def test_too_many_malformed_events_end_the_stream() -> None:
    body = TOKEN + b"data: {broken\n\n" * 5 + DONE
    assert await failing(answer(body), limits={"malformed_events": 3}) == (
        "STREAM_LIMIT_EXCEEDED",
        "malformed",
    )


async def test_event_over_the_limit_ends_the_stream() -> None:
    body = b'data: {"type": "token", "content": "' + b"x" * 5000
    assert await failing(then_silent(SSE, chunk(body)), limits={"event_bytes": "1KiB"}) == (
        "STREAM_LIMIT_EXCEEDED",
        "limit",
    )


async def test_error_event_of_the_upstream_ends_the_stream() -> None:
    got = await relayed(
        answer(TOKEN + b'data: {"type": "error", "message": "KeyError: /srv/app.py"}\n\n' + DONE)
    )
    assert failure(got) == ("UPSTREAM_ERROR", "upstream_error")
    assert b"KeyError" not in got.body


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "model exploded, password=hunter2"}',
        b'{"error": "model exploded", "password": "hunter2"}',
        rb'{"error": "model exploded", "trace": "goroutine 1 [running]:\nhunter2()"}',
        rb'{"error": "model exploded", "trace": "\u5bc6\u7801\uff1ahunter2"}',
        b"model exploded, password=hunter2",
    ],
)
async def test_debug_adds_details_without_secrets(body: bytes) -> None:
    from loopback import settled

    async with upstream(answer(body, status="500 Oops")) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with gateway(settled(endpoints=endpoints, debug=True)) as running:
            got = (await ask(running)).assert_valid()
    assert got.error is not None
    assert "model exploded" in json.dumps(got.error["details"])
    assert b"hunter2" not in got.body
