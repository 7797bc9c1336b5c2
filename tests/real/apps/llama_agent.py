"""A workflow that runs an agent of LlamaIndex on the workflow server, and passes on what that says.

A tool of the agent waits for a person, whose answer comes to the workflow as an event.
The variable MODEL is where the scripted model is.
"""

import asyncio
import os

from llama_agents.server import WorkflowServer
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from workflows import Context, Workflow, step
from workflows.events import HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent


async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


async def book(ctx: Context, city: str) -> str:
    """Book a journey, if a person agrees."""
    question = InputRequiredEvent(prefix=f"Book {city}?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_id=city, waiter_event=question)
    return f"booked: {answer.response}"


async def fail(city: str) -> str:
    """Fail."""
    raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")


MODEL = OpenAILike(
    model="scripted",
    api_base=os.environ["MODEL"],
    api_key="sk-fake",
    is_chat_model=True,
    is_function_calling_model=True,
    max_retries=0,
)

AGENT = FunctionAgent(name="travel", tools=[weather, book, fail], llm=MODEL, streaming=True)


class Travel(Workflow):
    """Runs the agent."""

    def __init__(self) -> None:
        super().__init__(timeout=120)
        self.waiting: dict[str, Context] = {}

    @step
    async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
        """Ask the agent, and pass on its events but for its end."""
        running = AGENT.run(user_msg=ev.message)
        async for event in running.stream_events():
            if isinstance(event, InputRequiredEvent):
                self.waiting[event.prefix] = running.ctx
            if not isinstance(event, StopEvent):
                ctx.write_event_to_stream(event)
        return StopEvent(result=str(await running))

    @step
    async def go_on(self, ev: HumanResponseEvent) -> None:
        """Hand an answer to the agent that waits for it."""
        _, waiting = self.waiting.popitem()
        waiting.send_event(ev)


server = WorkflowServer()
server.add_workflow("travel", Travel(), additional_events=[InputRequiredEvent])
app = server.app
