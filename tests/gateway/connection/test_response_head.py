"""When the head of a response leaves: with the first piece of the body, never alone before it."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from streamweir_gateway.connection.exchange import HttpExchange

pytestmark = pytest.mark.anyio

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
HEAD = b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Connection:
    """The server's side of an exchange, which keeps each write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.transport = SimpleNamespace(write=self.writes.append)
        self.flow = SimpleNamespace(is_writing_paused=False, resume_reading=lambda: None)
        self.is_answered: bool | None = None

    def date(self) -> bytes:
        return b"date: now\r\n"

    def on_response_end(self, exchange: HttpExchange) -> None:
        del exchange

    def on_return(self, exchange: HttpExchange, *, is_answered: bool) -> None:
        del exchange
        self.is_answered = is_answered


def piece(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def served(app: Callable[[Send, Connection, HttpExchange], Awaitable[None]]) -> Connection:
    """The connection of a request that `app` has answered."""
    server = Connection()
    head: Any = SimpleNamespace(method="GET", version="1.1", expects_continue=False)
    exchange = HttpExchange(server, head)  # type: ignore[arg-type]
    exchange.take_whole(b"", keep_alive=True)

    async def called(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await app(send, server, exchange)

    await exchange.run(called, {})
    return server


@pytest.mark.parametrize(("body", "chunk"), [(b"ab", b"2\r\nab\r\n"), (b"", b"")])
async def test_head_leaves_with_the_first_piece_even_if_it_is_empty(body: bytes, chunk: bytes) -> None:
    async def app(send: Send, server: Connection, exchange: HttpExchange) -> None:
        del exchange
        await send(START)
        await asyncio.sleep(0)
        assert server.writes == []
        await send(piece(body, more=True))
        assert server.writes == [HEAD + chunk]
        await send(piece(b"c", more=False))

    server = await served(app)
    assert server.writes == [HEAD + chunk, b"1\r\nc\r\n0\r\n\r\n"]
    assert server.is_answered


async def test_head_leaves_with_a_piece_that_is_written_without_waiting() -> None:
    async def app(send: Send, server: Connection, exchange: HttpExchange) -> None:
        await send(START)
        assert exchange.write(b"ab")
        assert server.writes == [HEAD + b"2\r\nab\r\n"]
        await send(piece(b"", more=False))

    assert (await served(app)).writes[1:] == [b"0\r\n\r\n"]


async def test_head_of_an_application_that_fails_before_a_piece_is_sent() -> None:
    async def app(send: Send, server: Connection, exchange: HttpExchange) -> None:
        del server, exchange
        await send(START)
        raise RuntimeError("no body")

    server = await served(app)
    assert server.writes == [HEAD]
    assert server.is_answered is False


async def test_head_is_dropped_if_the_client_has_left() -> None:
    async def app(send: Send, server: Connection, exchange: HttpExchange) -> None:
        del server
        await send(START)
        exchange.lose()
        await send(piece(b"ab", more=False))

    assert (await served(app)).writes == []
