"""Starlette: an old endpoint made standard by one line, and a new one that cannot emit an invalid stream.

uvicorn --app-dir examples starlette_app:app
"""

import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamweir import StreamingEngine, collect_stream_warning
from streamweir.asgi import EventStreamResponse, StreamweirMiddleware

PROTOCOLS = ("standard", "easyflow")
"""What a client may choose from; the first is the default."""


async def old_answer() -> AsyncIterator[str]:
    """What the endpoint has always sent; nothing here knows of streamweir."""
    for event in (
        {"type": "tool_call", "tool_name": "count_rows", "tool_args": {"table": "drinks"}},
        {"type": "tool_result", "tool_name": "count_rows", "result": 3},
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "final_answer", "content": "There are three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(old_answer(), media_type="text/event-stream")


async def new_answer(table: str) -> AsyncIterator[str]:
    engine = StreamingEngine()
    try:
        yield await engine.emit_tool_call_start("call_1", "count_rows", arguments={"table": table})
        yield await engine.emit_tool_call_end("call_1", result=3)
        collect_stream_warning("Only the first sheet was read.", message_code="SHEETS_LEFT_OUT")
        yield await engine.emit_content("There are three.", is_complete=True)
    except Exception as error:
        yield await engine.emit_exception(error)
    else:
        yield await engine.close()


async def agent(request: Request) -> EventStreamResponse:
    table = request.query_params.get("table", "drinks")
    return EventStreamResponse(new_answer(table), answers=PROTOCOLS)


app = Starlette(
    routes=[Route("/chat", chat), Route("/agent", agent)],
    middleware=[Middleware(StreamweirMiddleware, speaks="legacy", answers=PROTOCOLS)],
)
