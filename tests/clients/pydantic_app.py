"""pydantic-ai with a made-up model, as a server of AG-UI and of the UI message stream."""

import json
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests  # type: ignore[import-not-found]
from pydantic_ai.messages import ModelRequest, ToolReturnPart  # type: ignore[import-not-found]
from pydantic_ai.models.function import DeltaToolCall, FunctionModel  # type: ignore[import-not-found]
from pydantic_ai.ui.ag_ui import AGUIAdapter  # type: ignore[import-not-found]
from pydantic_ai.ui.vercel_ai import VercelAIAdapter  # type: ignore[import-not-found]
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def model(messages: list[Any], _info: Any) -> AsyncIterator[Any]:
    """Call the tool that the last message names, then answer with what it gave."""
    last = messages[-1]
    results = [part for part in last.parts if isinstance(part, ToolReturnPart)]
    if isinstance(last, ModelRequest) and results:
        yield f"It gave: {results[-1].content}"
        return
    wanted = "book" if "book" in str(last.parts[-1].content) else "weather"
    yield "I see. "
    yield {0: DeltaToolCall(name=wanted, json_args="", tool_call_id=f"call_{wanted}_000001")}
    yield {0: DeltaToolCall(json_args=json.dumps({"city": "Rome"}))}


agent = Agent(FunctionModel(stream_function=model), output_type=[str, DeferredToolRequests])


@agent.tool_plain  # type: ignore[untyped-decorator]
def weather(city: str) -> str:
    """Say how the weather is."""
    return f"sunny in {city}"


@agent.tool_plain(requires_approval=True)  # type: ignore[untyped-decorator]
def book(city: str) -> str:
    """Book a journey."""
    return f"booked {city}"


async def ag_ui(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)  # type: ignore[no-any-return]


async def vercel(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(request, agent=agent, sdk_version=6)  # type: ignore[no-any-return]


app = Starlette(routes=[Route(f"/{f.__name__}", f, methods=["POST"]) for f in (ag_ui, vercel)])

if __name__ == "__main__":
    import sys

    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
