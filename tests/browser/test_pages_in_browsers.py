"""Pages in a real Chromium, before a gateway that asks for no keys: who may start a run, and who may not.

`make browser` installs what it takes. Names under .example lead to this machine, as an attacker's name server
would have it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import IO, Any, Final

import anyio
import pytest
import trustme
from websockets.asyncio.server import ServerConnection

from loopback import Gateway, ask, gateway, settled
from patience import PATIENCE
from places import ROOT
from scripted_upstream import (
    HELLO,
    LAST_CHUNK,
    SSE,
    WHOLE,
    Call,
    Script,
    Upstream,
    answer,
    chunk,
    upstream,
)
from socket_service import Service, service

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

INSTALLED: Final = ROOT / ".cache" / "browser"
PAGE: Final = answer(b"<!doctype html><title>A page</title>", "Content-Type: text/html", "Connection: close")
SIMPLE: Final = {"method": "POST", "headers": {"Content-Type": "text/plain"}, "body": "{}"}
"""A request that a browser sends without asking first."""

JSON: Final = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{}"}
"""One that it asks for first, by a preflight."""


class Browser:
    """The driver's process: see driver.mjs."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes]) -> None:
        self._orders = orders
        self._answers = answers

    async def order(self, action: str, target: str, **order: Any) -> dict[str, Any]:
        """Have a fresh page do something, and return what it saw of the answer."""
        return await asyncio.to_thread(self._exchange, {"action": action, "target": target, **order})

    def _exchange(self, order: dict[str, Any]) -> dict[str, Any]:
        self._orders.write(json.dumps(order).encode() + b"\n")
        self._orders.flush()
        seen: dict[str, Any] = json.loads(self._answers.readline() or '{"error": "the browser is gone"}')
        assert "error" not in seen, seen
        return seen


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    assert chromium, "no Chromium: `make browser` installs it"
    command = ["node", str(ROOT / "tests/browser/driver.mjs"), str(INSTALLED), chromium]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Browser(process.stdin, process.stdout)
        process.stdin.close()
        try:
            process.wait(timeout=PATIENCE)
        finally:
            process.kill()


NO_PAGE = "/no-page"
"""A page of the gateway's origin that may do what any may: scripts of the one at `/` may do nothing."""


class Stage:
    """A gateway without keys, the upstream behind it, and a server of pages."""

    def __init__(self, running: Gateway, behind: Upstream, pages: Upstream) -> None:
        self.running = running
        self.behind = behind
        self._pages = pages

    def page(self, host: str) -> str:
        """Return the address of a page of another server than the gateway."""
        return f"http://{host}:{self._pages.port}/"

    def chat(self, host: str = "127.0.0.1") -> str:
        """Return the address of the endpoint, by a name that leads to it."""
        return f"http://{host}:{self.running.address[1]}/chat"

    async def outcome(self) -> tuple[int, str | None]:
        """Wait until the endpoint's first request is over; return its status and code."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for line in self.running.log.lines:
                    if line.get("endpoint") == "/chat":
                        return line["status"], line.get("code")
                await self.running.log.next_line()

    async def assert_refused(self) -> None:
        """The gateway has refused the request, and nobody behind it was asked."""
        assert await self.outcome() == (403, "FORBIDDEN")
        assert self.behind.connections == 0


@asynccontextmanager
async def stage(
    behind: Script | bytes = WHOLE, pages: Script | bytes = PAGE, *, named: str | None = None
) -> AsyncIterator[Stage]:
    """Run all three. `named`: the host whose pages `cors` names, or `*`."""
    async with upstream(behind) as server, upstream(pages) as shown:
        file: dict[str, Any] = {
            "endpoints": {"/chat": {"upstream": server.url, "speaks": "legacy", "methods": ["GET", "POST"]}}
        }
        if named is not None:
            file["cors"] = {"origins": [named if named == "*" else f"http://{named}:{shown.port}"]}
        async with gateway(settled(**file)) as running:
            yield Stage(running, server, shown)


@asynccontextmanager
async def tls_before(running: Gateway, host: str) -> AsyncIterator[str]:
    """Take TLS off before the gateway, and change nothing: the base URL by which `host` leads there."""

    async def hand_on(call: Call) -> None:
        head = await call.read_until(b"\r\n\r\n")
        async with await anyio.connect_tcp(*running.address) as onward:
            await onward.send(head.replace(b"Connection: keep-alive", b"Connection: close"))
            async for piece in onward:
                await call.send(piece)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(host).configure_cert(context)
    async with upstream(hand_on, reads_request=False, tls=context) as server:
        yield f"https://{host}:{server.port}"


@pytest.mark.parametrize(
    ("host", "named"), [("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("app.localhost", "*")]
)
async def test_page_of_this_machine_reads_a_stream_event_by_event(
    browser: Browser, host: str, named: str
) -> None:
    seen = anyio.Event()

    async def halting(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await seen.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    async def pages(call: Call) -> None:
        if call.target == "/seen":
            seen.set()
        await call.send(PAGE)

    async with stage(halting, pages, named=named) as on:
        page = on.page(host)
        read = await browser.order("stream", on.chat(), page=page, init=JSON, seen=f"{page}seen")
    assert read["status"] == 200
    assert [event["type"] for event in events_of(read["text"])][-1] == "session_end"


async def test_page_of_this_machine_without_a_cors_entry_starts_a_run_and_reads_nothing(
    browser: Browser,
) -> None:
    async with stage() as on:
        read = await browser.order("request", on.chat(), page=on.page("localhost"), init=SIMPLE)
        assert (await on.outcome())[0] == 200
    assert read == {"refused": True}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "gateway.localhost"])
@pytest.mark.parametrize("init", [SIMPLE, JSON, {}], ids=["simple", "json", "get"])
async def test_page_of_the_gateway_s_own_origin_is_served(
    browser: Browser, host: str, init: dict[str, Any]
) -> None:
    async with stage() as on:
        own = on.chat(host)
        read = await browser.order("request", own, page=own.replace("/chat", NO_PAGE), init=init)
    assert read["status"] == 200
    assert "session_end" in read["text"]


FOREIGN: Final = [
    ("request", {"init": SIMPLE}),
    ("request", {"init": SIMPLE | {"mode": "no-cors"}}),
    ("request", {"init": {}}),
    ("form", {"method": "post"}),
    ("events", {}),
]
"""What a page can do without a preflight."""


@pytest.mark.parametrize(("action", "order"), FOREIGN)
@pytest.mark.parametrize("named", [None, "app.example"])
async def test_page_of_a_stranger_starts_no_run(
    browser: Browser, action: str, order: dict[str, Any], named: str | None
) -> None:
    async with stage(named=named) as on:
        await browser.order(action, on.chat(), page=on.page("evil.example"), **order)
        await on.assert_refused()


async def test_preflight_of_a_stranger_is_refused_and_no_request_follows(browser: Browser) -> None:
    async with stage() as on:
        read = await browser.order("request", on.chat(), page=on.page("evil.example"), init=JSON)
        await on.assert_refused()
        methods = [line["method"] for line in on.running.log.lines]
    assert read == {"refused": True}
    assert methods == ["OPTIONS"]


@pytest.mark.parametrize(
    ("action", "order"),
    [("request", {"init": SIMPLE}), ("request", {"init": JSON}), ("form", {"method": "post"})],
)
async def test_rebound_name_of_this_machine_starts_no_run(
    browser: Browser, action: str, order: dict[str, Any]
) -> None:
    async with stage() as on:
        rebound = on.chat("rebound.example")
        await browser.order(action, rebound, page=rebound.replace("/chat", NO_PAGE), **order)
        await on.assert_refused()


@pytest.mark.parametrize(
    ("action", "order"),
    [("request", {"init": {}}), ("events", {}), ("image", {}), ("form", {"method": "get"}), ("open", {})],
)
async def test_rebound_name_over_tls_is_known_without_an_origin(
    browser: Browser, action: str, order: dict[str, Any]
) -> None:
    async with stage() as on, tls_before(on.running, "rebound.example") as rebound:
        await browser.order(action, f"{rebound}/chat", page=f"{rebound}/", **order)
        await on.assert_refused()


@pytest.mark.parametrize("named", ["app.example", "*"])
async def test_origin_in_the_configuration_starts_a_run_and_reads_its_id(
    browser: Browser, named: str
) -> None:
    async with stage(named=named) as on:
        read = await browser.order("request", on.chat(), page=on.page("app.example"), init=JSON)
    assert read["status"] == 200
    assert read["headers"]["x-request-id"]
    assert "session_end" in read["text"]


@pytest.mark.parametrize(("action", "order"), FOREIGN)
async def test_any_origin_lets_all_in(browser: Browser, action: str, order: dict[str, Any]) -> None:
    async with stage(named="*") as on:
        await browser.order(action, on.chat(), page=on.page("any.example"), **order)
        await on.behind.until_finished()


async def test_program_is_served_while_pages_are_refused(browser: Browser) -> None:
    async with stage() as on:
        await browser.order("request", on.chat(), page=on.page("evil.example"), init=SIMPLE)
        await on.assert_refused()
        assert (await ask(on.running)).assert_valid().status == 200


def events_of(sse: str) -> list[dict[str, Any]]:
    """The events that a page read."""
    return [json.loads(line.removeprefix("data: ")) for line in sse.split("\n") if line.startswith("data: ")]


KEY: Final = "a-key-that-is-long"
OFFER: Final = ["streamweir", "streamweir.key." + base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("=")]


@asynccontextmanager
async def sockets(**file: Any) -> AsyncIterator[tuple[Service, Gateway, Upstream]]:
    """A service over a WebSocket that echoes, relayed at `/app/`; and a server of pages."""

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async with service(echo) as running, upstream(PAGE) as shown:
        base = running.url.replace("ws://", "http://").removesuffix("/chat")
        config = settled(endpoints={"/app/*": {"upstream": base, "relay": "all"}}, **file)
        async with gateway(config) as gate:
            yield running, gate, shown


async def test_page_of_this_machine_opens_a_websocket_and_a_foreign_one_does_not(browser: Browser) -> None:
    async with sockets() as (running, gate, pages):
        target = f"ws://127.0.0.1:{gate.address[1]}/app/chat"
        order: dict[str, Any] = {"target": target, "send": "hello", "protocols": []}
        seen = await browser.order("socket", page=f"http://localhost:{pages.port}/", **order)
        assert seen["text"] == "hello"
        seen = await browser.order("socket", page=f"http://evil.example:{pages.port}/", **order)
        assert seen == {"refused": True}
        assert len(running.connections) == 1


async def test_page_with_a_key_among_the_subprotocols_opens_a_websocket(browser: Browser) -> None:
    async with sockets(auth={"keys": {"page": KEY}}) as (running, gate, pages):
        target = f"ws://127.0.0.1:{gate.address[1]}/app/chat"
        page = f"http://app.example:{pages.port}/"
        seen = await browser.order("socket", page=page, target=target, send="hello", protocols=OFFER)
        assert (seen["text"], seen["protocol"]) == ("hello", "streamweir")
        seen = await browser.order("socket", page=page, target=target, send="hello", protocols=[])
        assert seen == {"refused": True}
        request = running.connections[0].request
        assert request is not None
        assert "Sec-WebSocket-Protocol" not in request.headers
