"""The server of Google's ADK: `adk api_server`, with sessions that the gateway has made."""

from collections.abc import Mapping, Sequence
from typing import Final

from common_cases import (
    APPROVE,
    CUT,
    DENIED,
    GRANTED,
    HAPPY,
    HIDDEN,
    LEFT,
    RAISED,
    REASONING,
    REFUSED,
    REJECT,
    TOOLS,
    asked,
    at,
)
from real_servers import APPS, Case, Fields, Place, Server

APP: Final = "travel"


def command(place: Place) -> Sequence[str]:
    """`adk api_server`, which finds an agent in each folder of a folder."""
    folder = place.folder / "agents"
    agent = folder / APP
    agent.mkdir(parents=True)
    (agent / "__init__.py").write_text("from . import agent\n")
    (agent / "agent.py").write_text("from google_adk_agent import root_agent\n")
    return ("-m", "google.adk.cli", "api_server", "--port", str(place.port), str(folder))


ENDPOINTS: Final[Mapping[str, tuple[str, Fields]]] = {
    "/chat": ("/run_sse", {}),
    "/still": ("/run_sse", {"streaming": False}),
    "/whole": ("/run", {}),
}
"""Events with pieces, whole events one by one, and all events in one answer."""

ORDERED: Final = Case(
    scenario="long",
    status="suspended",
    answers={"action": "submit", "value": {"status": "confirmed"}},
    then=HAPPY,
)
ASKED: Final = (asked(APPROVE, then=GRANTED), asked(REJECT, then=DENIED), ORDERED)
CASES: Final = (HAPPY, TOOLS, REASONING, RAISED, *ASKED)


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            path[1:]: {"url": f"{place.url}{target}", "speaks": "google-adk", "breaker": "off"}
            for path, (target, _) in ENDPOINTS.items()
        },
        "endpoints": {
            path: {"upstream": path[1:], "request": {"mapped": {"appName": APP, **overlay}}}
            for path, (_, overlay) in ENDPOINTS.items()
        },
    }


SERVER: Final = Server(
    # litellm imports mcp where tools are called, and does not ask for it
    requirements=("google-adk==2.13.0", "litellm==1.106.2", "mcp>=2,<3"),
    command=command,
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "PYTHONPATH": str(APPS),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    gateway=gateway,
    cases=[
        *at("/chat", (*CASES, *REFUSED, CUT, LEFT)),
        *at("/still", (*CASES, *REFUSED)),
        *at("/whole", (*CASES, *HIDDEN)),  # an Internal Server Error, whatever it was
    ],
)
