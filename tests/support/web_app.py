"""An ordinary web application, on uvicorn and a port of its own: what a whole service is."""

import asyncio
import hashlib
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]


class WebApp:
    """The application, and what it has seen.

    Attributes:
        left: requests whose client went away within the answer.
        uploads: the largest piece of each upload, and how many bytes came.
    """

    def __init__(self, folder: Path) -> None:
        self.left = asyncio.Event()
        self.uploads: list[tuple[int, int]] = []
        self.requests: list[str] = []
        self.file = folder / "report.bin"
        self.file.write_bytes(bytes(range(256)) * 400)
        routes = [
            Route("/api/login", self.login, methods=["POST"]),
            Route("/api/me", self.me),
            Route("/api/echo{rest:path}", self.echo, methods=METHODS),
            Route("/api/file", self.download),
            Route("/api/upload", self.upload, methods=["POST", "PUT"]),
            Route("/api/old", self.moved),
            Route("/api/status/{status:int}", self.status, methods=METHODS),
            Route("/api/slow", self.slow),
            Route("/api/forever", self.forever),
            Route("/api/cut", self.cut),
            Route("/api/export", self.export),
            Route("/api/chat", self.chat, methods=["POST", "GET"]),
            Route("/api/notes", self.notes),
        ]
        self.app = Starlette(routes=routes)

    async def login(self, request: Request) -> Response:
        form = await request.json()
        response = JSONResponse({"user": form["user"]})
        response.set_cookie("session", "s-" + form["user"], httponly=True)
        response.set_cookie("theme", "dark")
        return response

    async def me(self, request: Request) -> Response:
        session = request.cookies.get("session")
        return JSONResponse({"session": session}, status_code=200 if session else 401)

    async def echo(self, request: Request) -> Response:
        self.requests.append(request.method)
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers.raw]
        body = await request.body()
        answer = {
            "method": request.method,
            "target": request.scope["raw_path"].decode(),
            "query": request.url.query,
            "headers": headers,
            "body": body.decode("latin-1"),
        }
        return JSONResponse(answer, headers={"X-Powered-By": "old", "Server-Timing": "db;dur=5"})

    async def download(self, request: Request) -> Response:
        del request
        return FileResponse(self.file)

    async def upload(self, request: Request) -> Response:
        digest, size, largest = hashlib.sha256(), 0, 0
        async for piece in request.stream():
            digest.update(piece)
            size += len(piece)
            largest = max(largest, len(piece))
        self.uploads.append((largest, size))
        return JSONResponse({"size": size, "sha256": digest.hexdigest()})

    async def moved(self, request: Request) -> Response:
        del request
        return RedirectResponse("/api/new?a=1", status_code=308)

    async def status(self, request: Request) -> Response:
        status = int(request.path_params["status"])
        body = b"" if status in (204, 304) else b"status"
        return Response(body, status, headers={"ETag": '"v1"'}, media_type="text/html")

    async def slow(self, request: Request) -> Response:
        del request

        async def pieces() -> AsyncIterator[bytes]:
            for number in range(5):
                yield b"%d\n" % number
                await asyncio.sleep(0.1)

        return StreamingResponse(
            pieces(), media_type="text/plain", headers={"X-Began": str(time.monotonic())}
        )

    async def forever(self, request: Request) -> Response:
        del request

        async def pieces() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"tick\n"
                    await asyncio.sleep(0.05)
            finally:
                self.left.set()

        return StreamingResponse(pieces(), media_type="application/octet-stream")

    async def cut(self, request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"half"
            await asyncio.sleep(0.05)
            raise ConnectionAbortedError

        length = {"Content-Length": "1000"} if "length" in request.query_params else None
        return StreamingResponse(pieces(), media_type="application/json", headers=length)

    async def export(self, request: Request) -> Response:
        del request
        rows = b"".join(b'{"id": %d, "name": "row"}\n' % number for number in range(100))
        return Response(rows, media_type="application/x-ndjson")

    async def chat(self, request: Request) -> Response:
        del request
        body = b'data: {"type": "token", "content": "Hello"}\n\ndata: {"type": "done"}\n\n'
        return Response(body, media_type="text/event-stream", headers={"X-Model": "m1"})

    async def notes(self, request: Request) -> Response:
        del request
        return Response(b"event: note\ndata: three new messages\n\n", media_type="text/event-stream")


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Run an application on uvicorn; gives its URL."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        try:
            yield f"http://{host}:{port}"
        finally:
            server.should_exit = True
            server.force_exit = True
            await task
