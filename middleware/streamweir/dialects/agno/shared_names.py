"""The names of Agno's events, including old names, and the meanings of events about steps and phases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamweir.events import State

__all__ = ["BLOCKS", "EVENTS", "PHASES", "STEPS", "TEAM", "known_as"]

TEAM: Final = "Team"
"""The prefix of the names of a team's own events."""

_RUNS: Final = (
    *("RunStarted", "RunContent", "RunIntermediateContent", "RunContentCompleted", "RunCompleted"),
    *("RunError", "RunCancelled", "RunPaused", "RunContinued", "ToolCallStarted", "ToolCallCompleted"),
    *("ToolCallError", "ReasoningStep", "ReasoningContentDelta", "ModelRequestStarted"),
    *("ModelRequestCompleted", "FollowupsCompleted", "TaskStateUpdated", "TaskCreated", "TaskUpdated"),
)
_WORKFLOWS: Final = (
    *("WorkflowStarted", "WorkflowCompleted", "WorkflowPaused", "WorkflowCancelled", "WorkflowError"),
    *("StepOutput", "StepCompleted", "WorkflowRunOutput"),
)

_FORMER: Final[Mapping[str, str]] = {
    "RunResponse": "RunContent",
    "RunResponseContent": "RunContent",
    "RunIntermediateResponseContent": "RunIntermediateContent",
    "RunOutput": "WorkflowRunOutput",
    "UpdatingMemory": "MemoryUpdateStarted",
}
"""The present name of an event, by its former name."""

_ENDINGS: Final[Mapping[str, State]] = {"Started": "started", "Completed": "finished"}

PHASES: Final[Mapping[str, tuple[str, State]]] = {
    f"{name}{ending}": (label, state)
    for name, label in {
        "PreHook": "pre_hook",
        "PostHook": "post_hook",
        "Reasoning": "reasoning",
        "MemoryUpdate": "memory_update",
        "SessionSummary": "session_summary",
        "ParserModelResponse": "parser_model",
        "OutputModelResponse": "output_model",
        "Compression": "compression",
        "Compaction": "compaction",
        "Followups": "followups",
        "TaskIteration": "task_iteration",
        "WorkflowAgent": "workflow_agent",
    }.items()
    for ending, state in _ENDINGS.items()
}
"""The events about phases of a run: the name and the state of each phase."""

STEPS: Final[Mapping[str, State]] = {
    "StepStarted": "started",
    "StepProgress": "running",
    "StepPaused": "suspended",
    "StepContinued": "resumed",
    "StepExecutorPaused": "suspended",
    "StepExecutorContinued": "resumed",
    "StepOutputReview": "suspended",
    "StepError": "failed",
}
"""The events about a workflow's steps: the state of each step."""

BLOCKS: Final[Mapping[str, State]] = {
    **{
        f"{block}Execution{ending}": state
        for block in ("Loop", "Parallel", "Condition", "Router", "Steps")
        for ending, state in _ENDINGS.items()
    },
    "LoopIterationStarted": "running",
    "LoopIterationCompleted": "running",
    "RouterPaused": "suspended",
    "ConditionPaused": "suspended",
}
"""The events about groups of steps: the state of each group."""

_OF_AGENTS: Final = (*_RUNS, *_FORMER, *PHASES)
EVENTS: Final = frozenset(
    {*_OF_AGENTS, *(f"{TEAM}{name}" for name in _OF_AGENTS), *_WORKFLOWS, *STEPS, *BLOCKS, "CustomEvent"}
)
"""The names of all events, as servers write them."""


def known_as(name: str) -> str:
    """Return the present name of an event, without the prefix for teams."""
    bare = name.removeprefix(TEAM)
    return _FORMER.get(bare, bare)
