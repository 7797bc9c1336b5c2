"""Graphs as the LangGraph API server serves them: a graph of one's own, and an agent of LangChain's.

`agent` has a tool ask with `interrupt`; `approving` is `create_agent` with a person before the tool `book`;
`nested` has the first as a node. The variable MODEL is where the scripted model is.
"""

import asyncio
import os
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langchain_deepseek import ChatDeepSeek
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


@tool
async def book(city: str) -> str:
    """Book a journey, if a person agrees."""
    return f"booked: {interrupt({'question': f'Book {city}?'})}"


@tool
async def reserve(city: str) -> str:
    """Reserve a journey."""
    return f"reserved: {city}"


reserve.name = "book"


@tool
async def fail(city: str) -> str:
    """Fail."""
    raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")


MODEL = ChatDeepSeek(model="scripted", api_base=os.environ["MODEL"], api_key="sk-fake", max_retries=0)


async def answer(state: MessagesState) -> dict[str, Any]:
    """Ask the model."""
    return {"messages": [await MODEL.bind_tools([weather, book, fail]).ainvoke(state["messages"])]}


def graph() -> Any:
    """The model and its tools, until it calls none; the server brings the checkpoints."""
    made = StateGraph(MessagesState)
    made.add_node("agent", answer)
    made.add_node("tools", ToolNode([weather, book, fail], handle_tool_errors=False))
    made.add_edge(START, "agent")
    made.add_conditional_edges("agent", tools_condition)
    made.add_edge("tools", "agent")
    return made.compile()


def outer(inner: Any) -> Any:
    """A graph whose only node is another one."""
    made = StateGraph(MessagesState)
    made.add_node("inner", inner)
    made.add_edge(START, "inner")
    return made.compile()


agent = graph()
nested = outer(agent)
approving = create_agent(
    MODEL, [weather, reserve, fail], middleware=[HumanInTheLoopMiddleware(interrupt_on={"book": True})]
)
