"""An agent of Google's ADK over A2A, with a tool that a person confirms."""

from dataclasses import replace
from typing import Final

from common_cases import (
    APPROVE,
    CUT,
    DENIED,
    GRANTED,
    HAPPY,
    RAISED,
    REASONING,
    REFUSED,
    REJECT,
    TOOLS,
    asked,
)
from real_servers import APPS, Server, mapped

BROKEN_OFF: Final = replace(CUT, texts=())
"""It answers in whole messages, which no client can leave halfway."""

SERVER: Final = Server(
    # litellm imports mcp where tools are called, and does not ask for it
    requirements=("google-adk[a2a]==2.13.0", "litellm==1.106.2", "mcp>=2,<3"),
    command=lambda place: (
        *("-m", "uvicorn", "--app-dir", str(APPS.parent), "apps.a2a_adk:app", "--port", str(place.port)),
    ),
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    gateway=mapped("a2a", "/"),
    cases=[
        *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED, BROKEN_OFF),
        *(asked(APPROVE, then=GRANTED), asked(REJECT, then=DENIED)),
    ],
)
