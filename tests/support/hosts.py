"""Applications below the middleware, over real HTTP on the loopback interface or called directly."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn

from loopback import Answer, Client, client, listening

Message = dict[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]

SSE = b"text/event-stream"
NDJSON = b"application/x-ndjson"
TOKENS = (
    b'data: {"type": "token", "content": "Hel"}\n\n',
    b'data: {"type": "token", "content": "lo"}\n\n',
)
DONE = b'data: {"type": "done"}\n\n'
HELLO = (*TOKENS, DONE)


class Host:
    """An application on a free port."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address


@asynccontextmanager
async def served(app: Any, **options: Any) -> AsyncIterator[Any]:
    """Run `app` under uvicorn, without its main loop and its signal handlers."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_keep_alive=1, **options)
    server = uvicorn.Server(config)
    async with listening(server) as address:
        yield Host(address)


async def get(
    host: Any, target: str = "/chat", *, method: str = "GET", headers: Sequence[tuple[str, str]] = ()
) -> Answer:
    """Send one request and read its whole answer."""
    async with client(host) as connected:
        connected.send(method, target, headers=headers)
        return await connected.whole()


@asynccontextmanager
async def asking(
    host: Any, target: str = "/chat", *, headers: Sequence[tuple[str, str]] = ()
) -> AsyncIterator[Client]:
    """Send one request; the client leaves at the end of the block."""
    async with client(host) as connected:
        connected.send("GET", target, headers=headers)
        yield connected


def start(media_type: bytes = SSE, *headers: tuple[bytes, bytes], status: int = 200) -> Message:
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", media_type), *headers],
    }


def body(data: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def streaming(
    *pieces: bytes, media_type: bytes = SSE, headers: Sequence[tuple[bytes, bytes]] = (), pause: float = 0
) -> App:
    """A plain ASGI application that streams `pieces`."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start(media_type, *headers))
        for piece in pieces:
            await send(body(piece, more=True))
            await anyio.sleep(pause)
        await send(body())

    return app


def sending(*messages: Message | Exception | Callable[[], Any]) -> App:
    """A plain ASGI application that sends messages; an exception among them is raised, a function called."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            if isinstance(message, Exception):
                raise message
            if callable(message):
                message()
            else:
                await send(dict(message))

    return app


class Call:
    """One request to an application, without a server."""

    def __init__(
        self,
        app: Any,
        *,
        path: str = "/chat",
        method: str = "GET",
        headers: Sequence[tuple[str, str]] = (),
        kind: str = "http",
        requests: Sequence[Message] = ({"type": "http.request", "body": b"", "more_body": False},),
        spec_version: str = "2.3",
        **scope: Any,
    ) -> None:
        self.app = app
        self.sent: list[Message] = []
        self.requests = list(requests)
        self.scope: dict[str, Any] = {
            "type": kind,
            "asgi": {"version": "3.0", "spec_version": spec_version},
            "path": path,
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
            **({"method": method} if kind == "http" else {}),
            **scope,
        }

    async def receive(self) -> Message:
        if self.requests:
            return self.requests.pop(0)
        await anyio.sleep_forever()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(self) -> "Call":
        await self.app(self.scope, self.receive, self.send)
        return self

    @property
    def answer(self) -> Answer:
        """What was sent, as a client would see it."""
        answer = Answer()
        first = self.sent[0]
        answer.status = first["status"]
        answer.headers = [(name.decode().lower(), value.decode()) for name, value in first["headers"]]
        answer.pieces = [message["body"] for message in self.sent[1:]]
        answer.is_whole = not self.sent[-1].get("more_body")
        return answer
