"""One line per request, whatever becomes of it; no credentials in any line; a log that cannot be written."""

import asyncio
import base64
import contextlib
import gc
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import COMMAND
from loopback import ask, client, gateway, one_endpoint, settled
from patience import PROMPTLY
from running_gateway import Running
from scripted_upstream import HELLO, SSE, WHOLE, Call, upstream
from streamweir_gateway.app import build_app
from streamweir_gateway.observability.causes import causes_of
from streamweir_gateway.observability.lines import MAX_WAITING, LineQueue
from streamweir_gateway.observability.logs import configure_logging, request_log
from streamweir_gateway.observability.metrics import Metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import secrets_of

REFUSED = "http://127.0.0.1:1"
SECRET = "Zk9-very-own-secret"


def line_of(record: RequestRecord, *, secrets: Iterable[str] = ()) -> str:
    """The line of a request, as it stands in the file."""
    stream = io.StringIO()
    Observer(request_log(stream), Metrics(), secrets=secrets).ended(record)
    return stream.getvalue()


def record(**fields: Any) -> RequestRecord:
    return RequestRecord("req_1", "POST", **{"endpoint": "/chat", **fields})


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the standard library's loggers write."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(secrets=[SECRET], stream=stream)
    root.handlers = [handler for handler in root.handlers if handler not in handlers]
    yield stream
    root.handlers, root.level = handlers, level


class TestTheLine:
    """Over real HTTP."""

    pytestmark = pytest.mark.anyio

    async def test_log_line_of_a_stream_has_its_facts(self) -> None:
        async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
            got = await ask(running, headers=[("X-Request-Id", "mine")])
            line = await running.log.next_line()
        assert (
            line.items()
            >= {
                "request_id": "mine",
                "method": "POST",
                "endpoint": "/chat",
                "upstream": server.url,
                "speaks": "legacy",
                "answers": "standard",
                "framing": "sse",
                "status": 200,
                "upstream_status": 200,
                "attempts": 1,
                "reason": "done",
                "events": len(got.events),
                "bytes_in": len(b"".join(HELLO)),
                "bytes_out": len(got.body),
                "level": "info",
            }.items()
        )
        assert line["duration_ms"] >= line["first_event_ms"] > 0
        assert not {"code", "cause", "path", "key", "malformed", "repairs", "lost"} & line.keys()

    async def test_log_line_of_a_failure_has_its_cause(self) -> None:
        async with gateway(one_endpoint(REFUSED)) as running:
            await ask(running)
            line = await running.log.next_line()
        assert (line["level"], line["code"]) == ("warning", "UPSTREAM_UNREACHABLE")
        assert len(line["cause"]) >= 2
        assert any("refused" in text.lower() or "connect" in text.lower() for text in line["cause"])
        assert all(": " in text or text.isidentifier() for text in line["cause"])

    async def test_log_line_of_a_caller_has_the_name_of_the_key(self) -> None:
        async with upstream(WHOLE) as server:
            config = settled(
                auth={"keys": {"web": SECRET}},
                endpoints={"/chat": {"upstream": server.url, "speaks": "legacy"}},
            )
            async with gateway(config) as running:
                await ask(running, headers=[("Authorization", f"Bearer {SECRET}")])
                line = await running.log.next_line()
                await ask(running, headers=[("Authorization", "Bearer wrong-one-123")])
                refused = await running.log.next_line()
        assert line["key"] == "web"
        assert (refused["status"], refused["code"]) == (401, "UNAUTHENTICATED")
        assert SECRET not in str(line)
        assert "wrong-one-123" not in str(refused)

    async def test_log_line_of_an_unknown_path_is_written(self) -> None:
        async with gateway(one_endpoint(REFUSED)) as running:
            await ask(running, "GET", "/no%0A%22where/" + "x" * 5000, body=b"")
            line = await running.log.next_line()
        assert (line["status"], line["code"]) == (404, "ENDPOINT_NOT_FOUND")
        assert line["path"].startswith('/no"where/x') or line["path"].startswith('/no\n"where/x')
        assert len(line["path"]) <= 256
        assert "endpoint" not in line
        assert line["trace_id"]

    @pytest.mark.parametrize(
        ("path", "shown"),
        [
            ("/no/sk-proj-abcdEFGH1234567890/x", "/no/[redacted]/x"),
            ("/no/https://user:hunter2222@host/x", "/no/https://[redacted]@host/x"),
            ("/no/password=hunter2222", "/no/password=[redacted]"),
            ("/no/where/req_0123456789abcdef/token-1", "/no/where/req_0123456789abcdef/token-1"),
        ],
    )
    def test_log_line_of_an_unknown_path_hides_credentials(self, path: str, shown: str) -> None:
        line = json.loads(line_of(record(endpoint=None, path=path, code="ENDPOINT_NOT_FOUND")))
        assert line["path"] == shown

    async def test_log_line_of_a_client_that_left_has_its_reason(self) -> None:
        async def silent(call: Call) -> None:
            await call.send(SSE)
            await call.until_closed()

        async with (
            upstream(silent) as server,
            gateway(one_endpoint(server.url)) as running,
            client(running) as connected,
        ):
            connected.send()
            await server.called.wait()
            connected.leave()
            line = await running.log.next_line()
        assert line["reason"] == "client_gone"
        assert "first_event_ms" not in line

    async def test_request_has_one_log_line(self) -> None:
        async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
            for _ in range(5):
                await ask(running)
                await ask(running, target="/nowhere")
                await ask(running, headers=[("X-Streamweir-Protocol", "none")])
            await ask(running, "GET", "/healthz", body=b"")
            async with asyncio.timeout(PROMPTLY):
                while len(running.log.lines) < 15:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert len(running.log.lines) == 15


class TestTheText:
    """What a client puts into a line cannot forge one, and the line is JSON whatever is in it."""

    @pytest.mark.parametrize(
        "path",
        [
            '/x\n{"event": "request", "status": 200}',
            "/\u2028\u2029\u0085\x0b\x0c\x1b[2J\x9b2J\u202e\x7f",
            "/\ud800half",
            "/" + "\U0001f600" * 10_000,
            "/\x00",
        ],
    )
    def test_log_line_is_one_line_of_json(self, path: str) -> None:
        text = line_of(record(endpoint=None, path=path))
        assert len(text.splitlines()) == 1
        assert text.endswith("\n")
        assert len(text) < 8000
        assert json.loads(text)["event"] == "request"
        assert not set("\x1b\x9b\u202e\x7f") & set(text)

    def test_counts_of_nothing_are_left_out(self) -> None:
        fields = json.loads(line_of(record(malformed=0, lost=0, events=0)))
        assert fields["events"] == 0
        assert "malformed" not in fields

    def test_log_line_has_a_level_and_a_time(self) -> None:
        fields = json.loads(line_of(record(code="UPSTREAM_TIMEOUT")))
        assert fields["level"] == "warning"
        assert fields["timestamp"].endswith("Z")
        assert fields["duration_ms"] >= 0

    def test_secrets_of_the_configuration_are_hidden(self) -> None:
        config = settled(
            auth={"keys": {"web": "plain-words-as-a-key", "hashed": f"sha256:{64 * 'a'}"}},
            endpoints={
                "/chat": {
                    "upstream": "http://user:pass%40word@127.0.0.1:1",
                    "speaks": "legacy",
                    "headers": {
                        "X-Api-Key": "another-plain-one",
                        "X-Pin-Token": "4711",
                        "X-Team": "research",
                    },
                }
            },
        )
        secrets = secrets_of(config)
        assert secrets == {*("plain-words-as-a-key", "another-plain-one", "4711", "pass%40word", "pass@word")}
        failed = record(path="/research/another-plain-one")
        failed.add_cause(ValueError("plain-words-as-a-key; pass@word; pin=4711; at 147112; research"))
        text = line_of(failed, secrets=secrets)
        assert not any(secret in text for secret in secrets - {"4711"})
        assert "ValueError: [redacted]; [redacted]; pin=[redacted]; at 147112; research" in text

    def test_secrets_in_urls_and_requests_of_the_file_are_known(self) -> None:
        config = settled(
            store="redis://:store-password@127.0.0.1:6379",
            endpoints={
                "/chat": {
                    "upstream": "http://127.0.0.1:1/v1?api_key=in%2Bthe-url&page=next",
                    "request": {
                        "body": {"q": "hello", "auth": [{"secret": "in-the-body"}], "password": "${{ pin }}"},
                        "headers": {"X-Api-Key": "Key in-a-header", "X-Team": "research"},
                    },
                },
                "/models": {
                    "answers": ["openai-chat"],
                    "speaks": "openai-chat",
                    "models": {
                        "one": {
                            "upstream": "http://127.0.0.1:2",
                            "path": "/x?token=in-a-path",
                            "request": {"mapped": {"api_key": "of-a-model"}},
                        }
                    },
                },
                "/ws": {
                    "upstream": "ws://127.0.0.1:3",
                    "websocket": {"hello": [{"type": "login", "access_token": "in-the-hello"}]},
                },
            },
        )
        in_urls = {"store-password", "in%2Bthe-url", "in+the-url", "in-a-path"}
        in_requests = {"in-the-body", "Key in-a-header", "in-a-header", "of-a-model", "in-the-hello"}
        assert secrets_of(config) == in_urls | in_requests

    def test_secrets_within_credential_headers_of_the_file_are_known(self) -> None:
        basic = base64.b64encode(b"user:in-basic").decode()
        config = one_endpoint(
            "http://127.0.0.1:1",
            headers={"Cookie": 'sid=in a+cookie; csrf="in%2Bquotes"', "Authorization": f"Basic {basic}"},
        )
        assert secrets_of(config) >= {"in a+cookie", "in%2Bquotes", "in+quotes", "in-basic", basic}


class TestCauses:
    """The chain of exceptions behind a failure."""

    def test_causes_of_an_exception_begin_with_the_outermost(self) -> None:
        outer, middle = RuntimeError("outer"), KeyError("x")
        outer.__context__, middle.__cause__ = middle, OSError(111, "refused")
        assert causes_of(outer) == [
            "RuntimeError: outer",
            "KeyError: 'x'",
            "ConnectionRefusedError: [Errno 111] refused",
        ]

    def test_causes_of_an_exception_leave_out_the_suppressed(self) -> None:
        outer = RuntimeError("outer")
        outer.__context__, outer.__suppress_context__ = OSError("hidden"), True
        assert causes_of(outer) == ["RuntimeError: outer"]

    def test_groups_and_circles_end(self) -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        assert causes_of(ExceptionGroup("many", [first, ValueError()])) == [
            "ExceptionGroup: many (2 sub-exceptions)",
            "ValueError: first",
            "ValueError",
            "ValueError: second",
        ]

    def test_causes_of_any_exception_are_bounded_and_raise_nothing(self) -> None:
        class MuteError(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        deep: BaseException = MuteError()
        for number in range(1000):
            outer = ValueError(f"{number} " + "x" * 100_000)
            outer.__cause__ = deep
            deep = outer
        causes = causes_of(deep)
        assert len(causes) == 8
        assert max(map(len, causes)) <= 300
        assert causes_of(MuteError()) == [
            "TestCauses.test_causes_of_any_exception_are_bounded_and_raise_nothing.<locals>.MuteError"
        ]

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("http://u:hunter2@127.0.0.1:9/v1?x=1", "http://[redacted]@127.0.0.1:9/v1?x=1"),
            ("redis://:p%40ss@db:6379/0", "redis://[redacted]@db:6379/0"),
            ("Authorization: Bearer abcdef", "Authorization: [redacted]"),
            ("sent Bearer eyJhbGciOi.x.y on", "sent Bearer [redacted] on"),
            ("api_key=abc123 failed at /srv/app/x.py", "api_key=[redacted] failed at /srv/app/x.py"),
            ("no route to 10.0.0.5:443 for a@example.com", "no route to 10.0.0.5:443 for a@example.com"),
            ("key sk-proj-abc123DEF", "key [redacted]"),
            ("request req_0af7651916cd43dd8448eb211c80319c", "request req_0af7651916cd43dd8448eb211c80319c"),
        ],
    )
    def test_credentials_are_hidden_and_nothing_else(self, text: str, shown: str) -> None:
        assert causes_of(ValueError(text)) == [f"ValueError: {shown}"]


def failing(error: Exception) -> None:
    """Raise `error` and log it."""
    try:
        raise error  # noqa: TRY301 - what is logged is what was raised
    except Exception:
        logging.getLogger("streamweir").exception("failed")
        raise


class TestOtherLoggers:
    """The library, the server and asyncio write the same lines."""

    @pytest.mark.parametrize("name", ["streamweir.gateway", "uvicorn.error", "asyncio", "anything"])
    def test_credentials_are_hidden(self, logged: io.StringIO, name: str) -> None:
        logging.getLogger(name).warning(
            "key %s at %s",
            "sk-abc123DEF",
            f"http://u:{SECRET}@h/",
            extra={"url": "http://a:b@h", "request_id": "r"},
        )
        fields = json.loads(logged.getvalue())
        assert fields["event"] == "key [redacted] at http://[redacted]@h/"
        assert (fields["logger"], fields["level"], fields["request_id"]) == (name, "warning", "r")
        assert fields["url"] == "http://[redacted]@h"

    def test_and_in_tracebacks(self, logged: io.StringIO) -> None:
        error = RuntimeError("Bearer abc.def.ghi")
        error.__cause__ = OSError(f"password=hunter2hunter2 and {SECRET}")
        with contextlib.suppress(RuntimeError):
            failing(error)
        text = logged.getvalue()
        assert len(text.splitlines()) == 1
        assert not any(secret in text for secret in ("hunter2hunter2", SECRET, "abc.def"))
        trace = json.loads(text)["exception"]
        assert "Traceback" in trace
        assert __file__ in trace
        assert "RuntimeError: Bearer [redacted]" in trace

    def test_lines_are_bounded_and_the_end_stays(self, logged: io.StringIO) -> None:
        def deeper(depth: int) -> None:
            if not depth:
                raise ValueError("the cause itself")
            [deeper, sorted, deeper][depth % 2 * 2](depth - 1)  # type: ignore[operator]

        try:
            deeper(200)
        except ValueError:
            logging.getLogger("streamweir").exception("x" * 100_000, extra={"more": ["y" * 100_000]})
        fields = json.loads(logged.getvalue())
        assert len(logged.getvalue()) < 16_000
        assert fields["exception"].startswith("Traceback")
        assert fields["exception"].endswith("ValueError: the cause itself")

    def test_record_that_cannot_be_written_raises_nothing(self, logged: io.StringIO) -> None:
        class Odd:
            def __str__(self) -> str:
                raise RuntimeError

        strange = {"odd": Odd(), "big": 1 << 80, "half": "\ud800"}
        for text, arguments, extra in (("%d", ("no number",), {}), ("odd", (), strange)):
            values = {"name": "x", "levelname": "WARNING", "msg": text, "args": arguments, **extra}
            handler = next(
                one for one in logging.getLogger().handlers if type(one).__name__ == "_LineHandler"
            )
            handler.emit(logging.makeLogRecord(values))
        lines = [json.loads(line) for line in logged.getvalue().splitlines()]
        assert len(lines) == 2
        assert all("written" in line["event"] or line["event"] == "odd" for line in lines)

    def test_asking_twice_writes_once(self, logged: io.StringIO) -> None:
        configure_logging(stream=logged)
        logging.getLogger("streamweir").warning("once")
        assert len(logged.getvalue().splitlines()) == 1


@pytest.mark.slow
class TestWriting:
    """The reader of the log is slow, or gone."""

    def test_pipe_without_a_reader_never_blocks(self) -> None:
        reading, writing = os.pipe()
        lines = LineQueue(writing)
        line = "x" * 1000
        for count in (100, 2 * MAX_WAITING):
            for _ in range(count):
                lines.write(line)
            time.sleep(0.2)  # the pipe is full before a line is lost
        assert lines.lost > 0
        total = 100 + 2 * MAX_WAITING - lines.lost
        os.set_blocking(reading, False)
        got = b""
        while got.count(b"x\n") < total or b"were lost" not in got:
            with contextlib.suppress(BlockingIOError):
                got += os.read(reading, 1 << 20)
            time.sleep(0.001)
        assert got.count(b"x\n") == total
        assert b'log lines were lost: nobody read them","level":"warning","count":' in got
        assert lines.lost == 0
        os.close(reading)
        lines.write("into the void")
        lines.flush()
        os.close(writing)
        lines.write("closed")
        lines.flush()

    def test_queue_of_log_lines_is_bounded(self) -> None:
        reading, writing = os.pipe()
        lines = LineQueue(writing)
        for _ in range(3 * MAX_WAITING):
            lines.write("x" * 100)
        assert len(lines.waiting) <= MAX_WAITING
        os.close(reading)
        lines.flush()
        os.close(writing)

    def test_lines_of_threads_and_finalisers_are_each_one(self) -> None:
        """A line that a finaliser writes within another line's way into the queue is taken all the same."""
        reading, writing = os.pipe()
        lines = LineQueue(writing)

        class Logs:
            def __del__(self) -> None:
                lines.write("finalised")

        def write_many() -> None:
            for number in range(200):
                circle = [Logs()]
                circle.append(circle)  # type: ignore[arg-type]
                lines.write(f"{number}")

        threads = [threading.Thread(target=write_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        lines.flush()
        os.close(writing)
        with open(reading, "rb") as file:
            got = file.read().split()
        assert sorted(got) == sorted([b"%d" % number for number in range(200)] * 4 + [b"finalised"] * 800)

    @pytest.mark.anyio
    async def test_queued_lines_are_written_once_the_pipe_is_read(self) -> None:
        reading, writing = os.pipe()
        lines = LineQueue(writing)
        for number in range(200):
            lines.write(f"{number:01000d}")
        os.set_blocking(reading, False)
        got = b""
        async with asyncio.timeout(PROMPTLY):
            while got.count(b"\n") < 200:
                try:
                    got += os.read(reading, 1 << 16)
                except BlockingIOError:
                    await asyncio.sleep(0.01)
        assert got == b"".join(b"%01000d\n" % number for number in range(200))
        os.close(reading)
        os.close(writing)

    @pytest.mark.parametrize("reads", [True, False], ids=["read", "not read"])
    def test_last_lines_are_written_at_exit(self, reads: bool) -> None:
        """By a process that ends at once; a reader that does not read holds it up for a moment only."""
        script = (
            "from streamweir_gateway.observability.logs import request_log\n"
            "log = request_log()\n"
            "for number in range(500): log.info('request', number=number, padding='x' * 500)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
        assert process.stderr is not None
        written = process.stderr.read() if reads else b""
        assert process.wait(timeout=20) == 0
        process.stderr.close()
        numbers = [json.loads(line)["number"] for line in written.splitlines()]
        assert numbers == [*range(500 if reads else 0)]

    @pytest.mark.anyio
    @pytest.mark.parametrize("broken", ["reader gone", "pipe full", "closed"])
    async def test_streams_are_served_while_the_log_is_blocked(self, broken: str, tmp_path: Path) -> None:
        """A gateway of its own, whose standard error nobody reads."""
        reading, writing = os.pipe()
        if broken == "pipe full":
            fill(writing)
        async with upstream(WHOLE) as server:
            file = tmp_path / "config.yaml"
            endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
            file.write_text(json.dumps({"listen": "127.0.0.1:0", "endpoints": endpoints}))
            process = await asyncio.create_subprocess_exec(
                *(*COMMAND, "serve", str(file)),
                stdout=asyncio.subprocess.PIPE,
                stderr=writing,
                preexec_fn=(lambda: os.close(2)) if broken == "closed" else None,
            )
            try:
                os.close(writing)
                if broken == "reader gone":
                    os.close(reading)
                await five_streams(process)
            finally:
                process.kill()
                await process.communicate()
        if broken != "reader gone":
            os.close(reading)


async def five_streams(process: asyncio.subprocess.Process) -> None:
    running = Running(process, Path())
    assert process.stdout is not None
    found = re.search(rb"http://127\.0\.0\.1:(\d+)", await process.stdout.readline())
    assert found
    running.at.address = ("127.0.0.1", int(found[1]))
    for _ in range(5):
        assert (await ask(running.at)).assert_valid().text == "Hello"


def fill(pipe: int) -> None:
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"x" * 4096)
    os.set_blocking(pipe, True)


def test_log_without_standard_error_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    build_app(one_endpoint(REFUSED))
    request_log().info("request")
