"""An agent on a2a-sdk 0.3: JSON-RPC at `/`, and the HTTP+JSON form.

A model that refuses is a failed task, with what the exception says; another exception breaks the stream off.
"""

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, Part, Task, TaskState, TaskStatus, TextPart

from apps.a2a_steps import Step, steps_of


class Agent(AgentExecutor):
    """Answers in one artifact, in pieces; what it thinks it reports."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work on a task, a new one or one that goes on."""
        question, answer = context.get_user_input(), None
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=TaskStatus(state=TaskState.submitted),
                    history=[context.message],
                )
            )
        else:
            question, answer = context.current_task.history[0].parts[0].root.text, question
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        is_first = True
        try:
            async for step in steps_of(question, answer):
                if await is_over(task, step, append=not is_first):
                    return
                is_first = is_first and step.kind != "text"
        except RuntimeError as error:
            if "Error code" not in str(error):
                raise
            await task.failed(task.new_agent_message(parts_of(str(error))))
            return
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nobody asks for it."""


def parts_of(text: str) -> list[Part]:
    return [Part(root=TextPart(text=text))]


async def is_over(task: TaskUpdater, step: Step, *, append: bool) -> bool:
    """Write one step; return whether the agent's turn is over."""
    parts = parts_of(step.text)
    match step.kind:
        case "text":
            await task.add_artifact(parts, artifact_id="answer", name="answer", append=append)
        case "thought":
            await task.start_work(task.new_agent_message(parts))
        case "question":
            await task.requires_input(task.new_agent_message(parts), final=True)
        case "refused":
            await task.cancel()
    return step.kind in ("question", "refused")


card = AgentCard(
    name="sales",
    description="Sales.",
    version="1",
    url="http://127.0.0.1/",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text"],
    default_output_modes=["text"],
    skills=[],
)
handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
app = A2ARESTFastAPIApplication(agent_card=card, http_handler=handler).build()
A2AStarletteApplication(agent_card=card, http_handler=handler).add_routes_to_app(app)
