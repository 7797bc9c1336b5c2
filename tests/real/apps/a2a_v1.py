"""An agent on a2a-sdk 1.x: JSON-RPC at `/`, also in 0.3, and HTTP+JSON. What it raises, it raises."""

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2
from starlette.applications import Starlette

from apps.a2a_steps import Step, steps_of


class Agent(AgentExecutor):
    """Answers in one artifact, in pieces; what it thinks it reports."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work on a task, a new one or one that goes on."""
        question, answer = context.get_user_input(), None
        if context.current_task is None:
            status = a2a_pb2.TaskStatus(state=a2a_pb2.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                a2a_pb2.Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=status,
                    history=[context.message],
                )
            )
        else:
            question, answer = context.current_task.history[0].parts[0].text, question
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        is_first = True
        async for step in steps_of(question, answer):
            if await is_over(task, step, append=not is_first):
                return
            is_first = is_first and step.kind != "text"
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nobody asks for it."""


async def is_over(task: TaskUpdater, step: Step, *, append: bool) -> bool:
    """Write one step; return whether the agent's turn is over."""
    parts = [a2a_pb2.Part(text=step.text)]
    match step.kind:
        case "text":
            await task.add_artifact(parts, artifact_id="answer", name="answer", append=append)
        case "thought":
            await task.start_work(task.new_agent_message(parts))
        case "question":
            await task.requires_input(task.new_agent_message(parts))
        case "refused":
            await task.cancel()
    return step.kind in ("question", "refused")


handler = DefaultRequestHandler(
    agent_executor=Agent(),
    task_store=InMemoryTaskStore(),
    agent_card=a2a_pb2.AgentCard(
        name="sales", version="1", capabilities=a2a_pb2.AgentCapabilities(streaming=True)
    ),
)
app = Starlette(
    routes=[
        *create_jsonrpc_routes(handler, rpc_url="/", enable_v0_3_compat=True),
        *create_rest_routes(handler, enable_v0_3_compat=True),
    ]
)
