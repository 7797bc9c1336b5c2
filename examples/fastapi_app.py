"""FastAPI: an old endpoint made standard by one line, and a new one whose events are dicts.

uvicorn --app-dir examples fastapi_app:app
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from fastapi.responses import StreamingResponse

from streamweir import StreamError, collect_stream_warning
from streamweir.asgi import EventStreamResponse, StreamweirMiddleware

PROTOCOLS = ("standard", "easyflow")
"""What a client may choose from; the first is the default."""

TABLES = {"drinks": 3}

app = FastAPI()
app.add_middleware(StreamweirMiddleware, speaks="legacy", answers=PROTOCOLS)


def old_answer() -> Iterator[str]:
    """What the endpoint has always sent; nothing here knows of streamweir."""
    for event in (
        {"type": "tool_call", "tool_name": "count_rows", "tool_args": {"table": "drinks"}},
        {"type": "tool_result", "tool_name": "count_rows", "result": 3},
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


@app.post("/chat")
def chat() -> StreamingResponse:
    return StreamingResponse(old_answer(), media_type="text/event-stream")


def known_table(table: str = "drinks") -> str:
    """Warn from a dependency, which runs in a thread: the warning goes into this request's stream."""
    if table != table.lower():
        collect_stream_warning(f"Read {table} as {table.lower()}.", message_code="TABLE_NAME")
    return table.lower()


async def new_answer(table: str) -> AsyncIterator[dict[str, Any]]:
    call = {"tool_id": "call_1", "tool_name": "count_rows", "arguments": {"table": table}}
    yield {"type": "tool_call_start", "data": call}
    if table not in TABLES:  # the open call is closed, the error sent, the stream ended
        raise StreamError("TABLE_NOT_FOUND", f"There is no table {table}.", error_type="validation")
    yield {"type": "tool_call_end", "data": {"tool_id": "call_1", "status": "success", "result": 3}}
    yield {"type": "content", "data": {"content": "There are three."}}


@app.post("/agent")
async def agent(table: Annotated[str, Depends(known_table)]) -> EventStreamResponse:
    return EventStreamResponse(new_answer(table), answers=PROTOCOLS)
