"""The console of a running gateway, and a plain HTTP client of it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from loopback import Answer, Client, Gateway, Log, ask
from patience import PATIENCE
from running_gateway import Running, running_gateway
from streamweir_gateway.runs.live_streams import LiveStreams

TOKEN = "a-token-of-these-tests-0123"
API = "/api/v1/"


class Console:
    """The console of a gateway in processes of its own."""

    def __init__(self, running: Running, address: tuple[str, int], token: str) -> None:
        self.running = running
        self.at = Gateway(address, LiveStreams(), Log())
        self.token = token

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.at.address[1]}"

    async def request(
        self,
        target: str,
        method: str = "GET",
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        host: str | None = None,
        token: str | None = "",
    ) -> Answer:
        """One request; `token` is the right one unless another, or None, is given."""
        reader, writer = await asyncio.open_connection(*self.at.address)
        try:
            writer.write(self.head(method, target, headers, body, host, token) + body)
            client = Client(reader, writer)
            client.expect(method)
            return await client.whole()
        finally:
            writer.transport.abort()

    def head(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        host: str | None = None,
        token: str | None = "",
    ) -> bytes:
        given = [("Host", self.host if host is None else host), *headers]
        if token is not None:
            given.append(("Authorization", f"Bearer {token or self.token}"))
        if body:
            given.append(("Content-Length", str(len(body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in given)
        return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode()

    async def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path below the API."""
        answer = await self.request(API + path + (f"?{urlencode(query)}" if query else ""))
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    async def rows(self, **query: Any) -> list[dict[str, Any]]:
        """The rows, the newest first."""
        found: list[dict[str, Any]] = (await self.get("streams", **query))["streams"]
        return found

    async def row(self, **wanted: Any) -> dict[str, Any]:
        """The newest row with these fields, once there is one."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for row in await self.rows():
                    if all(row[name] == value for name, value in wanted.items()):
                        return row
                await asyncio.sleep(0.02)

    async def file(self, row_id: str) -> bytes:
        """A capture file."""
        answer = await self.request(f"{API}streams/{row_id}/capture")
        assert answer.status == 200, (answer.status, answer.body)
        return answer.body

    async def capture(self, row_id: str) -> list[dict[str, Any]]:
        """The lines of a capture file."""
        return [json.loads(line) for line in (await self.file(row_id)).splitlines()]

    async def call(self, target: str, message: str = "hi", **options: Any) -> Answer:
        """What a client of the gateway gets."""
        body = json.dumps({"message": message}).encode()
        return await ask(self.running.at, "POST", target, body=body, **options)

    @asynccontextmanager
    async def feed(self, **query: Any) -> AsyncIterator["Feed"]:
        """The feed, until the end of the block."""
        reader, writer = await asyncio.open_connection(*self.at.address)
        try:
            writer.write(self.head("GET", f"{API}feed?{urlencode(query)}"))
            yield Feed(reader, writer)
        finally:
            writer.transport.abort()


class Feed:
    """The feed of one viewer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._client = Client(reader, writer)
        self._client.expect("GET")
        self._taken = 0

    @property
    def body(self) -> bytes:
        """The bytes that have come so far."""
        return self._client.answer.body

    async def next(self, event: str) -> Any:
        """The data of the next event of this name."""
        async with asyncio.timeout(PATIENCE):
            while True:
                body = self._client.answer.body
                while (end := body.find(b"\n\n", self._taken)) >= 0:
                    frame, self._taken = body[self._taken : end].decode(), end + 2
                    fields = dict(line.split(": ", 1) for line in frame.splitlines())
                    if fields.get("event") == event:
                        return json.loads(fields["data"])
                assert await self._client.step(), "the feed has ended"

    async def row(self, **wanted: Any) -> dict[str, Any]:
        """The next row with these fields."""
        while True:
            row: dict[str, Any] = await self.next("row")
            if all(row[name] == value for name, value in wanted.items()):
                return row

    async def ping(self) -> None:
        """Wait for a ping."""
        await self._client.until(b": ping")


@asynccontextmanager
async def console_of(
    folder: Path, *arguments: str, console: Any = None, **file: Any
) -> AsyncIterator[Console]:
    """Run a gateway with a console.

    The keys of `console` replace those of these tests: any port, this token.
    """
    settings = {"listen": "127.0.0.1:0", "token": TOKEN, **(console or {})}
    async with running_gateway(folder, *arguments, console=settings, **file) as running:
        await running.ready()
        yield await opened(running)


async def opened(running: Running) -> Console:
    """The console whose address the gateway has printed."""
    assert running.process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while not (line := await running.process.stdout.readline()).startswith(b"console: "):
            assert line, running.told
    found = re.fullmatch(rb"console: http://(\S+):(\d+)/#token=(\S+)\n", line)
    assert found is not None, line
    return Console(running, (found[1].decode(), int(found[2])), found[3].decode())
