"""AgentOS: an agent, a team whose leader answers, a workflow with a step that an agent takes."""

from typing import Final

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
from real_servers import Fields, Place, Server, served_app

PATHS: Final = {
    "agent": "/agents/travel/runs",
    "team": "/teams/desk/runs",
    "workflow": "/workflows/report/runs",
}


def gateway(place: Place) -> Fields:
    """An endpoint for each."""
    return {
        "upstreams": {
            name: {"url": place.url + path, "speaks": "agno", "breaker": "off"}
            for name, path in PATHS.items()
        },
        "endpoints": {f"/{name}": {"upstream": name, "request": "mapped"} for name in PATHS},
    }


CASES: Final = (
    *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED_CAUGHT, CUT, LEFT),
    asked(APPROVE, then=GRANTED),
    asked(REJECT, then=HAPPY),
)
SERVER: Final = Server(
    requirements=(
        *(
            "agno==3.1.10",
            "fastapi>=0.115,<1",
            "uvicorn>=0.30,<1",
            "openai>=2,<4",
            "python-multipart>=0.0.20,<1",
        ),
        *("sqlalchemy[asyncio]>=2,<3", "aiosqlite>=0.20,<1"),
    ),
    command=served_app("agno_os"),
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1", "AGNO_TELEMETRY": "false"},
    gateway=gateway,
    ready="/health",
    cases=[case for name in PATHS for case in at(f"/{name}", CASES)],
)
