"""A graph behind a home-made server that dumps what LangGraph yields, in four forms."""

from dataclasses import replace
from typing import Final

from common_cases import (
    APPROVE,
    CUT,
    GRANTED,
    HAPPY,
    LEFT,
    RAISED,
    REASONING,
    REFUSED,
    REJECT,
    TOOLS,
    asked,
    at,
)
from real_servers import APPS, Fields, Place, Server, served_app

FORMS: Final = {"v1": "/events/v1", "v2": "/events/v2", "modes": "/modes", "named": "/named"}
REQUEST: Final = {
    "message": "${{ request.message }}",
    "action": "${{ request.resume[0].action }}",
    "thread_id": "${{ request.thread_id }}",
}
CASES: Final = (
    *(HAPPY, TOOLS, REASONING),
    *(asked(APPROVE, then=GRANTED), asked(REJECT, then=GRANTED)),  # the tool goes on with False
)
BROKEN: Final = [
    replace(case, codes=("UPSTREAM_TRUNCATED", "UPSTREAM_UNREACHABLE")) for case in (*REFUSED, RAISED, CUT)
]
"""LangGraph raises, and the server's answer breaks off: nothing in it says why."""

# `astream` of LangGraph 1.2 lets a node go on when it is left, `astream_events` does not
ASKED: Final = {
    "v1": (*CASES, *BROKEN, LEFT),
    "v2": (*CASES, *BROKEN, LEFT),
    "modes": (*CASES, *BROKEN),
    "named": (*CASES, *REFUSED, RAISED, CUT),
}


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            form: {"url": f"{place.url}{path}", "speaks": "langgraph-events", "breaker": "off"}
            for form, path in FORMS.items()
        },
        "endpoints": {f"/{form}": {"upstream": form, "request": REQUEST} for form in FORMS},
    }


SERVER: Final = Server(
    requirements=(
        *("langgraph==1.2.22", "langchain==1.4.7", "langchain-deepseek==1.1.1"),
        *("fastapi>=0.115,<1", "uvicorn>=0.30,<1"),
    ),
    command=served_app("langgraph_dumps"),
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "LANGSMITH_TRACING": "false",
        "PYTHONPATH": str(APPS.parent),
    },
    gateway=gateway,
    cases=[case for form, cases in ASKED.items() for case in at(f"/{form}", cases)],
)
