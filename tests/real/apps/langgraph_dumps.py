"""A graph behind a home-made server, which writes what LangGraph yields: events or stream modes.

`/events/v1`, `/events/v2` as LangChain's own dumps; `/modes` with its messages as fields, a line for each;
`/named` with the mode as the event's name. Nothing is caught, but for `/named`, which passes on what the
exception says, as such servers do. The variable MODEL is where the scripted model is.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.load import dumps
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from apps.langgraph_agents import agent

agent.checkpointer = InMemorySaver()
MODES = ["messages", "updates", "custom"]
SSE = "text/event-stream"


class Question(BaseModel):
    """A message, or the answer to an interrupt."""

    message: str | None = None
    action: str | None = None
    thread_id: str

    @property
    def asked(self) -> Any:
        if self.action is not None:
            return Command(resume=self.action == "approve")
        return {"messages": [("user", self.message)]}

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread_id}}


async def events_of(question: Question, version: Any) -> AsyncIterator[str]:
    async for event in agent.astream_events(question.asked, question.config, version=version):
        yield f"data: {dumps(event, ensure_ascii=False)}\n\n"


async def lines_of(question: Question) -> AsyncIterator[str]:
    async for part in agent.astream(question.asked, question.config, stream_mode=MODES, subgraphs=True):
        yield f"{json.dumps(part, default=fields_of, ensure_ascii=False)}\n"


async def named_of(question: Question) -> AsyncIterator[str]:
    try:
        async for mode, part in agent.astream(question.asked, question.config, stream_mode=MODES):
            yield f"event: {mode}\ndata: {json.dumps(part, default=fields_of)}\n\n"
    except Exception as error:
        yield f"event: error\ndata: {json.dumps({'error': str(error)})}\n\n"


def fields_of(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseMessage) else str(value)


app = FastAPI()


@app.post("/events/{version}")
async def events(version: str, question: Question) -> StreamingResponse:
    """Answer with the events of either version."""
    return StreamingResponse(events_of(question, version), media_type=SSE)


@app.post("/modes")
async def modes(question: Question) -> StreamingResponse:
    """Answer with lists of a namespace, a mode and what it says."""
    return StreamingResponse(lines_of(question), media_type="application/x-ndjson")


@app.post("/named")
async def named(question: Question) -> StreamingResponse:
    """Answer with the mode as the event's name."""
    return StreamingResponse(named_of(question), media_type=SSE)
