"""Django in one file: an old view made standard by one line, and a new one on `EventStream`.

uvicorn --app-dir examples django_app:application
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import path

from streamweir import EventStream, collect_stream_warning
from streamweir.asgi import StreamweirMiddleware

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "localhost"], SECRET_KEY="example")


async def old_answer() -> AsyncIterator[str]:
    """What the view has always sent; nothing here knows of streamweir."""
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


async def chat(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(old_answer(), content_type="text/event-stream")


async def new_answer() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "thinking", "data": {"content": "Count the rows."}}
    collect_stream_warning("Only the first sheet was read.", message_code="SHEETS_LEFT_OUT")
    yield {"type": "content", "data": {"content": "There are three."}}


async def agent(request: HttpRequest) -> StreamingHttpResponse:
    stream = EventStream(new_answer(), accept=request.headers.get("accept"))
    return StreamingHttpResponse(stream, headers=stream.headers)


urlpatterns = [path("chat", chat), path("agent", agent)]

application = StreamweirMiddleware(get_asgi_application(), speaks="legacy")
