"""An application under the middleware whose streams are kept in Redis: a worker of its own, on a port."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from loopback import Gateway, Log
from ports import free_port, until_open
from streamweir.asgi import StreamweirMiddleware
from streamweir.runs import RedisStore, Resume
from streamweir_gateway.runs.streams import Streams

__all__ = ["WORDS", "KeptWorker", "kept_worker", "serve"]

WORDS = 30
_PATIENCE = 30.0


class KeptWorker:
    """A process that serves the application."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, said: Path) -> None:
        self.process = process
        self.at = Gateway(("127.0.0.1", port), Streams(), Log())
        self._said = said

    def said(self) -> list[str]:
        """What the application's generators have noted."""
        return self._said.read_text().split() if self._said.exists() else []


@asynccontextmanager
async def kept_worker(store: str, said: Path) -> AsyncIterator[KeptWorker]:
    """Run one worker before a store; its generators note in `said` that they began and ended."""
    port, here = free_port(), str(Path(__file__).parent)
    command = (sys.executable, "-m", "uvicorn", "kept_app:serve", "--factory", "--app-dir", here)
    process = await asyncio.create_subprocess_exec(
        *command, "--port", str(port), "--log-level", "error", "--lifespan", "off",
        env={**os.environ, "STORE": store, "SAID": str(said)},
    )  # fmt: skip
    try:
        await until_open(port, "the application", _PATIENCE)
        yield KeptWorker(process, port, said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _chat(request: Request) -> Response:
    await request.body()
    return StreamingResponse(_events(), media_type="text/event-stream")


async def _events() -> AsyncIterator[bytes]:
    _note("began")
    try:
        yield _line({"type": "tool_call", "tool_name": "search", "tool_args": {}, "tool_id": "c"})
        for number in range(WORDS):
            await asyncio.sleep(0.05)
            yield _line({"type": "token", "content": f"word {number} "})
        yield _line({"type": "tool_result", "tool_name": "search", "result": "found", "tool_id": "c"})
        yield _line({"type": "done"})
    finally:
        _note("ended")


def _line(event: dict[str, object]) -> bytes:
    return b"data: %b\n\n" % json.dumps(event).encode()


def _note(word: str) -> None:
    with Path(os.environ["SAID"]).open("a") as said:
        said.write(f"{word}\n")


app = Starlette(routes=[Route("/chat", _chat, methods=["POST"])])


def serve() -> object:
    """Return the application as a worker serves it."""
    store = RedisStore(os.environ["STORE"], lease="1s")
    protocols = ["standard", "openai-chat", "ag-ui"]
    return StreamweirMiddleware(app, speaks="legacy", answers=protocols, resume=Resume(), store=store)
