"""Each end of a stream has one word, the same in event, log line, metric, row and capture."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from capture_checks import of_kind
from cases import case
from console_client import Console, console_of
from loopback import Answer, ask, client
from patience import until
from scraped_metrics import samples
from scripted_upstream import HELLO, SSE, Call, chunk, upstream
from streamweir_gateway.fake import Settings, serve_fake

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

SHORT = {"connect": "500ms", "first_event": "600ms", "idle": "500ms", "total": "2s"}
FAULTS = [
    *("", "refused", "accept-close", "reset-before-headers", "not-http", "status=503", "status=429"),
    *(
        "status=401",
        "status=404",
        "html",
        "empty",
        "wrong-type",
        "gzip-cut",
        "cut@8",
        "reset@8",
        "bad-chunk@8",
    ),
    *("stall@8:2s", "stall@0:2s", "no-end", "error@8", "garbage@3", "badjson@3", "open-tools"),
]


class Ends:
    """A console before a backend with faults, and the words of its requests.

    Attributes:
        metric: how many streams ended with each word.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.metric: Counter[str] = Counter()
        self._asked = 0

    def name(self) -> str:
        """An id for the next request."""
        self._asked += 1
        return f"req-{self._asked}"

    async def ask(
        self, target: str, method: str = "POST", *headers: tuple[str, str], body: bytes = b"{}"
    ) -> Any:
        """Send a request; return its id and its answer."""
        name = self.name()
        own = [("X-Request-Id", name), *headers]
        return name, await ask(self.console.running.at, method, target, headers=own, body=body)

    async def facts(self, name: str) -> dict[str, Any]:
        """The reason and code of a request, equal in row, log line and capture."""
        row = await self.console.row(request_id=name, state="ended")
        (end,) = of_kind(await self.console.capture(row["id"]), "end")
        line = await self.line(name)
        words = [(one.get("reason"), one.get("code")) for one in (row, line, end)]
        assert len(set(words)) == 1, words
        assert row["reason"] is not None
        assert row["status"] == line.get("status")
        return {"reason": row["reason"], "code": row["code"], "status": end["status"]}

    async def are_counted(self) -> bool:
        """Whether the metrics count the ends that the clients got, by their reason."""
        shown = await samples(self.console.running.at)
        return all(shown.get("streams_total", reason=word) == count for word, count in self.metric.items())

    async def line(self, name: str) -> dict[str, Any]:
        """The log line of a request."""
        return await self.console.running.line(
            lambda line: line.get("request_id") == name and line.get("event") == "request"
        )

    async def check(self, name: str, got: Answer, *, is_reader: bool = False) -> None:
        """The words of a request are those of the end that its client got."""
        facts = await self.facts(name)
        error = got.error
        assert facts == {
            "reason": got.end["reason"],
            "code": None if error is None else error["code"],
            "status": got.end["status"],
        }
        if not is_reader:
            self.metric[facts["reason"]] += 1


@asynccontextmanager
async def ends_of(folder: Path, **endpoints: Any) -> AsyncIterator[Ends]:
    settings = Settings(events=12).settled({"dialect": ["legacy"], "pace": ["off"], "fault": []})
    async with serve_fake(settings) as backend:
        own = {
            "upstream": "fake",
            "timeouts": SHORT,
            "forward_headers": ["X-Fault"],
            "request": "passthrough",
        }
        async with console_of(
            folder,
            upstreams={"fake": {"url": backend.url, "speaks": "legacy", "breaker": "off"}},
            endpoints={"/plain": own, "/kept": {**own, "resume": "on"}, **endpoints},
            console={"capture": "content"},
            server={"drain": "300ms"},
        ) as console:
            yield Ends(console)


async def test_reason_of_each_fault_is_the_same_word_everywhere_for_each_client(tmp_path: Path) -> None:
    async with ends_of(tmp_path) as ends:
        for fault in FAULTS:
            with case(fault or "none"):
                wish = [("X-Fault", fault)] if fault else []
                plain, (name, first) = await asyncio.gather(
                    ends.ask("/plain", "POST", *wish), ends.ask("/kept", "POST", *wish)
                )
                await ends.check(*plain)
                await ends.check(name, first)
                await check_readers(ends, first.header("x-streamweir-run") or "", first, wish)
        await until(ends.are_counted)
        assert not [row for row in await ends.console.rows(limit=500) if row["state"] != "ended"]
        assert all(row["reason"] for row in await ends.console.rows(limit=500))


async def check_readers(ends: Ends, handle: str, first: Answer, wish: list[tuple[str, str]]) -> None:
    """Readers of an ended run get its end, and its word."""
    last = first.events[-1]["metadata"]["sequence"]
    for target, method, headers, body in (
        (f"/-/runs/{handle}", "GET", [], b""),
        (f"/-/runs/{handle}", "GET", [("Last-Event-ID", f"{handle}.{last - 1}")], b""),
        ("/kept", "POST", [("X-Streamweir-Run", handle)], b"{}"),
    ):
        name, got = await ends.ask(target, method, *headers, *wish, body=body)
        assert got.status == 200, (target, got.body)
        if first.error is not None and got.error is None:  # the error is before the position
            assert (await ends.facts(name))["code"] == first.error["code"]
            assert got.end == first.end
        else:
            await ends.check(name, got, is_reader=True)
    await ends.ask(f"/-/runs/{handle}", "GET", ("Last-Event-ID", f"{handle}.{last}"), body=b"")
    name, got = await ends.ask(f"/-/runs/{handle}", "GET", ("Accept", "application/json"), body=b"")
    line, row = await ends.line(name), await ends.console.row(request_id=name, state="ended")
    error = got.json["error"]
    words = got.json["reason"], error["code"] if error else None
    assert (line["reason"], line.get("code")) == words
    assert (row["reason"], row["code"], row["endpoint"], row["attempts"]) == (*words, "/kept", 0)


async def pauses(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]))
    if call.target.endswith("/total"):
        while True:
            await call.send(chunk(HELLO[1]))
            await asyncio.sleep(0.2)
    if call.target.endswith("/big"):
        await call.send(chunk(b'data: {"type": "token", "content": "' + b"x" * 100_000 + b'"}\n\n'))
    await call.until_closed()


async def test_reason_of_an_end_from_outside_is_the_same_word_everywhere(tmp_path: Path) -> None:
    async with upstream(pauses) as backend:
        own = {"upstream": backend.url, "speaks": "legacy", "timeouts": {"idle": "20s"}}
        endpoints = {
            "/total": {
                **own,
                "path": "/total",
                "timeouts": dict.fromkeys(("connect", "first_event", "idle", "total"), "500ms"),
            },
            "/big": {**own, "path": "/big", "limits": {"event_bytes": "64KiB"}},
            "/stays": {**own, "resume": "on"},
            "/leaves": own,
        }
        async with ends_of(tmp_path, **endpoints) as ends:
            for target in ("/total", "/big"):
                await ends.check(*await ends.ask(target))
            await check_cancelled(ends)
            for target, headers in (("/leaves", []), ("/stays", [("X-Streamweir-Run", "run_" + "7" * 32)])):
                await check_left(ends, target, headers)
            await check_drained(ends)


async def check_cancelled(ends: Ends) -> None:
    """A run that is stopped, and its reader."""
    handle = "run_" + "6" * 32
    first = asyncio.create_task(ends.ask("/stays", "POST", ("X-Streamweir-Run", handle)))
    await ends.console.row(endpoint="/stays", state="streaming")
    reader = asyncio.create_task(ends.ask(f"/-/runs/{handle}", "GET", body=b""))
    await ends.console.row(attempts=0, state="streaming")
    assert (await ends.ask(f"/-/runs/{handle}/cancel"))[1].json["run"]["reason"] == "cancelled"
    await ends.check(*await first)
    await ends.check(*await reader, is_reader=True)


async def check_left(ends: Ends, target: str, headers: list[tuple[str, str]]) -> None:
    """A client that leaves: of a run of its own, and as the reader of a kept run, which goes on."""
    name = ends.name()
    async with client(ends.console.running.at) as leaving:
        leaving.send(target=target, headers=[("X-Request-Id", name), *headers])
        await leaving.until(b"Hel")
        if headers:
            reader = ends.name()
            async with client(ends.console.running.at) as second:
                run = f"/-/runs/{headers[0][1]}"
                second.send("GET", run, headers=[("X-Request-Id", reader)], body=b"")
                await second.until(b"Hel")
            assert await ends.facts(reader) == {"reason": "client_gone", "code": None, "status": "cancelled"}
    if not headers:
        assert await ends.facts(name) == {"reason": "client_gone", "code": None, "status": "cancelled"}


async def check_drained(ends: Ends) -> None:
    """A stream that is under way when the gateway stops; rows end with the console, the log does not."""
    name = ends.name()
    async with client(ends.console.running.at) as connected:
        connected.send(target="/leaves", headers=[("X-Request-Id", name)])
        await connected.until(b"Hel")
        ends.console.running.process.send_signal(signal.SIGTERM)
        got = await connected.whole()
    line = await ends.line(name)
    assert got.error is not None
    assert (line["reason"], line["code"]) == (got.end["reason"], got.error["code"])
