"""AgentOS: an agent, a team whose leader answers, a workflow with a step that an agent takes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from common_cases import (
    APPROVE,
    CUT,
    GRANTED,
    HAPPY,
    LEFT,
    RAISED_CAUGHT,
    REASONING,
    REFUSED,
    REJECT,
    TOOLS,
    asked,
    at,
)
from real_servers import Case, Fields, Place, Server, served_app

PATHS: Final = {
    "agent": "/agents/travel/runs",
    "team": "/teams/desk/runs",
    "workflow": "/workflows/report/runs",
}
A2A_PATH: Final = "/a2a/agents/travel/v1/message:stream"
A2A_OPTIONS: Final = {"a2a": {"version": "0.3", "form": "jsonrpc"}}
ASKING: Final[Mapping[str, tuple[Mapping[str, Any], Case]]] = {
    "form": ({"action": "submit", "value": {"seat": "window"}}, GRANTED),
    "elsewhere": ({"action": "submit", "value": "booked: Paris"}, HAPPY),
}
"""Agents that ask for other things than a yes: the answer, and what comes of it."""
URLS: Final = {**PATHS, **{name: f"/agents/{name}/runs" for name in ASKING}}


def gateway(place: Place) -> Fields:
    """An endpoint for each."""
    return {
        "upstreams": {
            name: {"url": place.url + path, "speaks": "agno", "breaker": "off"} for name, path in URLS.items()
        }
        | {"a2a": {"url": place.url + A2A_PATH, "speaks": "a2a", "breaker": "off"}},
        "endpoints": {
            **{f"/{name}": {"upstream": name, "request": "mapped"} for name in URLS},
            "/a2a": {"upstream": "a2a", "request": "mapped", "protocol_options": A2A_OPTIONS},
        },
    }


CASES: Final = (
    *(HAPPY, TOOLS, REASONING, RAISED_CAUGHT, LEFT),
    asked(APPROVE, then=GRANTED),
    asked(REJECT, then=HAPPY),
)
FAILED: Final = (*REFUSED, CUT)
SKIPPED: Final = tuple(replace(case, status="completed") for case in FAILED)
"""A workflow skips the step that has failed, and says so; the next one completes it."""
OVER_A2A: Final = (HAPPY, TOOLS, replace(RAISED_CAUGHT, calls=("success",)), LEFT)
"""As an A2A agent it does not say that a tool or a run has failed, and asks nobody."""


def cases() -> Iterator[Case]:
    """Everything that is asked."""
    for name in PATHS:
        yield from at(f"/{name}", (*CASES, *(SKIPPED if name == "workflow" else FAILED)))
    for name, (answer, then) in ASKING.items():
        yield from at(f"/{name}", [asked(answer, then=then), asked(REJECT, then=HAPPY)])
    yield from at("/a2a", OVER_A2A)


SERVER: Final = Server(
    requirements=(
        *("agno==3.1.10", "fastapi==0.165.0", "uvicorn==0.54.0", "openai==3.54.0"),
        *("python-multipart==0.0.34", "sqlalchemy[asyncio]==2.1.9", "aiosqlite==0.22.1"),
        "a2a-sdk==0.3.26",
    ),
    command=served_app("agno_os"),
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1", "AGNO_TELEMETRY": "false"},
    gateway=gateway,
    ready="/health",
    cases=[*cases()],
)
