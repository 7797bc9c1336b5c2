"""The server of Google's ADK: `adk api_server`, with sessions that the gateway has made."""

from collections.abc import Sequence
from typing import Final

from common_cases import (
    APPROVE,
    CUT,
    DENIED,
    GRANTED,
    HAPPY,
    LEFT,
    RAISED,
    REASONING,
    REFUSED,
    REJECT,
    TOOLS,
    asked,
)
from real_servers import APPS, Place, Server, mapped

APP: Final = "travel"


def command(place: Place) -> Sequence[str]:
    """`adk api_server`, which finds an agent in each folder of a folder."""
    folder = place.folder / "agents"
    agent = folder / APP
    agent.mkdir(parents=True)
    (agent / "__init__.py").write_text("from . import agent\n")
    (agent / "agent.py").write_text("from google_adk_agent import root_agent\n")
    return ("-m", "google.adk.cli", "api_server", "--port", str(place.port), str(folder))


SERVER: Final = Server(
    # litellm imports mcp where tools are called, and does not ask for it
    requirements=("google-adk==2.13.0", "litellm==1.106.2", "mcp>=2,<3"),
    command=command,
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "PYTHONPATH": str(APPS),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    gateway=mapped("google-adk", "/run_sse", request={"mapped": {"appName": APP}}),
    cases=[
        *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED, CUT, LEFT),
        *(asked(APPROVE, then=GRANTED), asked(REJECT, then=DENIED)),
    ],
)
