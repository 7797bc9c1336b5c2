"""A service as it has run since 2023: login, history, uploads, files, and an agent with words of its own.

Nothing here knows of streamweir. Its answers end after `final_answer`, by closing the body.

uvicorn --app-dir examples/drop-in old_service:app --port 9000
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

QUESTIONS: list[str] = []


async def login(request: Request) -> Response:
    response = RedirectResponse("/history", status_code=303)
    response.set_cookie("user", "ada", httponly=True)
    return response


async def history(request: Request) -> Response:
    if request.cookies.get("user") is None:
        return JSONResponse({"detail": "log in first"}, status_code=401)
    return JSONResponse({"user": request.cookies["user"], "questions": QUESTIONS})


async def upload(request: Request) -> Response:
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return JSONResponse({"bytes": size}, status_code=201)


async def source(request: Request) -> Response:
    return FileResponse(Path(__file__), media_type="text/x-python")


async def answer() -> AsyncIterator[str]:
    for event in (
        {"type": "tool_call", "tool_name": "count_rows", "tool_args": {"table": "drinks"}},
        {"type": "tool_result", "tool_name": "count_rows", "result": 3},
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "final_answer", "content": "There are three."},
    ):
        yield f"data: {json.dumps(event)}\n\n"
        await asyncio.sleep(0.05)


async def chat(request: Request) -> StreamingResponse:
    QUESTIONS.append((await request.json())["message"])
    return StreamingResponse(answer(), media_type="text/event-stream")


app = Starlette(
    routes=[
        Route("/login", login, methods=["POST"]),
        Route("/history", history),
        Route("/files", upload, methods=["PUT"]),
        Route("/files/source", source),
        Route("/api/chat", chat, methods=["POST"]),
    ]
)
