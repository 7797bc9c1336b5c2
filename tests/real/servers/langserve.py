"""LangServe with a model, its text alone, and an agent; what each puts out, its events, its log."""

from dataclasses import replace
from typing import Final

from common_cases import CUT, HAPPY, HIDDEN, LEFT, RAISED, REASONING, TOOLS, at
from real_servers import APPS, Fields, Place, Server, served_app

WAYS: Final = ("stream", "stream_events", "stream_log")
RUNNABLES: Final = {
    "model": (HAPPY, REASONING, *HIDDEN, CUT, LEFT),
    "text": (HAPPY, *HIDDEN, CUT, LEFT),
    "agent": (HAPPY, TOOLS, REASONING, *HIDDEN, RAISED, CUT, LEFT),
}
"""What each is asked."""

WHOLE_STEPS: Final = (HAPPY, TOOLS, REASONING, *HIDDEN, RAISED, replace(CUT, texts=()))
"""What a graph puts out is whole steps; and `astream` of LangGraph 1.2 lets a node go on when it is left."""


def gateway(place: Place) -> Fields:
    places = {f"{runnable}.{way}": f"/{runnable}/{way}" for runnable in RUNNABLES for way in WAYS}
    return {
        "upstreams": {
            name: {"url": f"{place.url}{path}", "speaks": "langserve", "breaker": "off"}
            for name, path in places.items()
        },
        "endpoints": {path: {"upstream": name, "request": "mapped"} for name, path in places.items()},
    }


SERVER: Final = Server(
    requirements=(
        *("langserve[server]==0.3.3", "langgraph==1.2.22", "langchain==1.4.7", "langchain-deepseek==1.1.1"),
        *("fastapi>=0.115,<1", "uvicorn>=0.30,<1"),
    ),
    command=served_app("langserve_runnables"),
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "LANGSMITH_TRACING": "false",
        "PYTHONPATH": str(APPS.parent),
    },
    gateway=gateway,
    cases=[
        case
        for runnable, cases in RUNNABLES.items()
        for way in WAYS
        for case in at(f"/{runnable}/{way}", WHOLE_STEPS if (runnable, way) == ("agent", "stream") else cases)
    ],
)
