"""An agent of Google's ADK with tools: one that a person has to confirm, one that somebody else completes.

The variable MODEL is where the scripted model is, which LiteLLM calls.
"""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.tools import FunctionTool, LongRunningFunctionTool


async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


async def book(city: str) -> str:
    """Book a journey."""
    return f"booked: {city}"


async def fail(city: str) -> str:
    """Fail."""
    raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")


async def order(city: str) -> dict[str, str]:
    """Order a guide, who takes days to answer."""
    return {"status": "pending", "city": city}


root_agent = LlmAgent(
    name="travel",
    model=LiteLlm(model="openai/scripted", api_base=os.environ["MODEL"], api_key="sk-fake", num_retries=0),
    tools=[weather, FunctionTool(book, require_confirmation=True), fail, LongRunningFunctionTool(order)],
)
