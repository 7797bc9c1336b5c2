"""AgentOS with an agent, a team and a workflow, whose tools a person has to confirm, fill in or run.

The variable MODEL is where the scripted model is.
"""

import asyncio
import os

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai.like import OpenAILike
from agno.os import AgentOS
from agno.team import Team
from agno.tools import Function, tool
from agno.workflow import Step, StepInput, StepOutput, Workflow

db = SqliteDb(db_file="agno.db")


async def weather(city: str) -> str:
    """Look up the weather of a city."""
    await asyncio.sleep(0.2)
    return f"{city}: 21 °C"


@tool(requires_confirmation=True)
async def book(city: str) -> str:
    """Book a journey."""
    return f"booked: {city}"


@tool(name="book", requires_user_input=True, user_input_fields=["seat"])
async def book_seat(city: str, seat: str) -> str:
    """Book a journey."""
    return f"booked: {city}, {seat}"


@tool(name="book", external_execution=True)
async def book_elsewhere(city: str) -> str:
    """Book a journey."""
    raise NotImplementedError


async def fail(city: str) -> str:
    """Fail."""
    raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")


def model() -> OpenAILike:
    return OpenAILike(id="scripted", api_key="sk-fake", base_url=os.environ["MODEL"])


def count(step: StepInput) -> StepOutput:
    """Say how long what came before is."""
    return StepOutput(content=f"{len(str(step.previous_step_content))} characters")


def agent(name: str, booking: Function = book) -> Agent:
    return Agent(id=name, name=name, model=model(), db=db, tools=[weather, booking, fail], telemetry=False)


desk = Team(
    id="desk",
    name="desk",
    model=model(),
    members=[agent("clerk")],
    tools=[weather, book, fail],
    db=db,
    telemetry=False,
)
report = Workflow(
    id="report",
    name="report",
    db=db,
    steps=[Step(name="write", agent=agent("writer"), max_retries=0), Step(name="count", executor=count)],
    telemetry=False,
)
app = AgentOS(
    agents=[agent("travel"), agent("form", book_seat), agent("elsewhere", book_elsewhere)],
    teams=[desk],
    workflows=[report],
    a2a_interface=True,
    telemetry=False,
).get_app()
