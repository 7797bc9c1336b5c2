"""A LangGraph app as people write them: an agent with tools, behind FastAPI, in the chat envelope.

`/chat/new` writes the envelope, `/chat/flat` the form before it; below `/normalized` is the same app under
the middleware. The variable MODEL is where the scripted model is, whose scenario the request names. Where it
fails the app passes on what the exception says, as such apps do; in the scenario `crash` it does not even
catch it.
"""

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from pydantic import BaseModel

from streamweir.asgi import NormalizeMiddleware

Fields = dict[str, Any]


class Question(BaseModel):
    """What a page sends."""

    message: str
    scenario: str = "happy"


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


@tool
async def book(city: str) -> str:
    """Book a journey, if a person agrees."""
    return f"booked: {interrupt({'question': f'Book {city}?'})}"


TOOLS = [weather, book]


async def agent(state: MessagesState, config: RunnableConfig) -> Fields:
    """Ask the model."""
    scenario = config["configurable"]["scenario"]
    model = ChatOpenAI(
        model="gpt-4o-mini", base_url=f"{os.environ['MODEL']}/{scenario}/v1", api_key="sk-fake", max_retries=0
    )
    return {"messages": [await model.bind_tools(TOOLS).ainvoke(state["messages"], config)]}


def compiled() -> Any:
    """The graph: the agent and its tools, until it calls none."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=InMemorySaver())


GRAPH = compiled()


class Envelope:
    """Writes the events of one thread."""

    def __init__(self, thread_id: str, *, flat: bool) -> None:
        self._thread_id = thread_id
        self._flat = flat

    def write(self, kind: str, data: Fields, *, run_id: str = "", node: str = "system") -> str:
        if self._flat:
            fields = {"type": kind, **data, "thread_id": self._thread_id}
        else:
            ids = {"trace_id": "", "observation_id": "", "parent_observation_id": "", "tags": []}
            place = {"thread_id": self._thread_id, "run_id": run_id, "node_name": node}
            fields = {"type": kind, **place, "timestamp": int(time.time() * 1000), **ids, "data": data}
        return f"data: {json.dumps(fields, ensure_ascii=False, default=str)}\n\n"

    def text(self, text: str, **ids: str) -> str:
        return self.write("content", {"content" if self._flat else "delta": text}, **ids)

    def failure(self, error: Exception) -> str:
        return self.write("error", {"error" if self._flat else "message": f"{type(error).__name__}: {error}"})


async def events(question: Question, envelope: Envelope, thread_id: str) -> AsyncIterator[str]:
    """The graph's events, and its end."""
    config = {"configurable": {"thread_id": thread_id, "scenario": question.scenario}}
    asked = {"messages": [("user", question.message)]}
    async for event in GRAPH.astream_events(asked, config, version="v2"):
        written = written_event(event, envelope)
        if written:
            yield written
    state = await GRAPH.aget_state(config)
    if state.next:
        value = state.tasks[0].interrupts[0].value
        yield envelope.write("interrupt", {"node_name": state.next[0], "node_label": "Tools", "state": value})
    else:
        yield envelope.write("done", {})


def written_event(event: Any, envelope: Envelope) -> str:
    """One event of LangGraph in the envelope; empty for those that such apps leave out."""
    ids = {"run_id": event["run_id"], "node": event["metadata"].get("langgraph_node", "agent")}
    data = event["data"]
    match event["event"]:
        case "on_chat_model_stream" if data["chunk"].content:
            return envelope.text(data["chunk"].content, **ids)
        case "on_tool_start":
            return envelope.write(
                "tool_start", {"tool_name": event["name"], "tool_input": data["input"]}, **ids
            )
        case "on_tool_end":
            output = data["output"]
            result = output.content if isinstance(output, BaseMessage) else output
            return envelope.write("tool_end", {"tool_name": event["name"], "tool_output": result}, **ids)
    return ""


async def stream(question: Question, *, flat: bool) -> AsyncIterator[str]:
    """The whole body of an answer."""
    thread_id = uuid.uuid4().hex
    envelope = Envelope(thread_id, flat=flat)
    yield envelope.write("thread_id" if flat else "status", {} if flat else {"status": "connected"})
    try:
        async for written in events(question, envelope, thread_id):
            yield written
    except Exception as error:
        if question.scenario == "crash":
            raise
        yield envelope.failure(error)


app = FastAPI()


@app.post("/chat/{form}")
async def chat(form: str, question: Question) -> StreamingResponse:
    """Answer in the envelope, or in the flat form."""
    return StreamingResponse(stream(question, flat=form == "flat"), media_type="text/event-stream")


app.mount("/normalized", NormalizeMiddleware(app, speaks="stream-envelope"))
