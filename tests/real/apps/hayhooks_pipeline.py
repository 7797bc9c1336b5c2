"""An agent of Haystack for hayhooks, by chat completions and by responses.

The variable MODEL is where the scripted model is.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from hayhooks import BasePipelineWrapper, async_streaming_generator
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


@tool
async def fail(city: str) -> str:
    """Fail."""
    raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")


class PipelineWrapper(BasePipelineWrapper):
    """What hayhooks serves."""

    def setup(self) -> None:
        """Make the agent."""
        model = OpenAIChatGenerator(
            model="scripted",
            api_base_url=os.environ["MODEL"],
            api_key=Secret.from_token("sk-fake"),
            max_retries=0,
        )
        self.pipeline = Agent(chat_generator=model, tools=[weather, fail])

    async def run_chat_completion_async(
        self, model: str, messages: list[dict[str, Any]], body: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Answer a request for chat completions."""
        return self._streamed([ChatMessage.from_openai_dict_format(message) for message in messages])

    async def run_response_async(
        self, model: str, input_items: list[dict[str, Any]], body: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Answer a request for a response."""
        text = "".join(
            part.get("text", "")
            for item in input_items
            for part in (
                item["content"] if isinstance(item["content"], list) else [{"text": item["content"]}]
            )
        )
        return self._streamed([ChatMessage.from_user(text)])

    def _streamed(self, messages: list[Any]) -> AsyncIterator[Any]:
        streamed: AsyncIterator[Any] = async_streaming_generator(
            pipeline=self.pipeline, pipeline_run_args={"messages": messages}
        )
        return streamed
