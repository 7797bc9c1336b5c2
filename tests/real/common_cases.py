"""What every server is asked that can do it: its model answers, calls tools, refuses, breaks off, goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from real_servers import Case
from scripted_model import ANSWER, THOUGHT

HALF: Final = "West sells"
"""What has come before the model breaks off."""

APPROVE: Final[Mapping[str, Any]] = {"action": "approve"}
REJECT: Final[Mapping[str, Any]] = {"action": "reject"}

HAPPY: Final = Case(scenario="happy", texts=(ANSWER,))
TOOLS: Final = Case(scenario="tools", texts=(ANSWER,), calls=("success", "success"), is_parallel=True)
REASONING: Final = Case(scenario="reasoning", texts=(ANSWER,), reasoning=THOUGHT)
GRANTED: Final = replace(HAPPY, calls=("success",))
"""What comes of a tool that a person has allowed, or of one that goes on with what the person said."""
DENIED: Final = replace(HAPPY, calls=("failed",))
RAISED: Final = Case(scenario="raise", status="error")
"""A tool raises, and the server gives up."""
RAISED_CAUGHT: Final = Case(scenario="raise", texts=(ANSWER,), calls=("failed",))
"""A tool raises, and the model is given the failure."""
REFUSED: Final = (
    Case(scenario="401", status="error", codes=("AUTH_FAILED",)),
    Case(scenario="429", status="error", codes=("RATE_LIMITED", "LLM_RATE_LIMIT")),
    Case(scenario="500", status="error", codes=("UPSTREAM_ERROR",)),
)
HIDDEN: Final = tuple(replace(case, codes=("UPSTREAM_ERROR",)) for case in REFUSED)
"""Where a server itself does not let out what its model said."""
CUT: Final = Case(scenario="cut", status="error", texts=(HALF,))
LEFT: Final = Case(scenario="slow", status="left")


def asked(answers: Mapping[str, Any], *, then: Case) -> Case:
    """A person is asked about the tool `book`, and answers."""
    return Case(scenario="interrupt", status="suspended", answers=answers, then=then)


def at(path: str, cases: Sequence[Case], **changes: Any) -> list[Case]:
    """The same cases at another endpoint."""
    return [
        replace(case, path=path, then=case.then and replace(case.then, path=path), **changes)
        for case in cases
    ]
