"""An agent on a2a-sdk 1.x, asked in 1.0 and 0.3, over JSON-RPC and HTTP+JSON, and without a stream."""

from dataclasses import replace
from typing import Final

from common_cases import (
    APPROVE,
    CUT,
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

PATHS: Final = {
    "/chat": "/",
    "/old": "/",
    "/single": "/",
    "/rest": "/message:stream",
    "/oldrest": "/v1/message:stream",
}
OPTIONS: Final = {"/old": {"version": "0.3"}, "/oldrest": {"version": "0.3"}, "/single": {"method": "send"}}

CALLED: Final = replace(TOOLS, calls=(), is_parallel=False)
"""The protocol has no calls: the agent's tools run out of sight."""
CANCELLED: Final = Case(scenario="interrupt", status="cancelled")
ANSWERED: Final = (HAPPY, CALLED, asked(APPROVE, then=HAPPY), asked(REJECT, then=CANCELLED))
BROKEN_OFF: Final = replace(RAISED, codes=("UPSTREAM_TRUNCATED", "UPSTREAM_UNREACHABLE"))


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            path[1:]: {"url": f"{place.url}{target}", "speaks": "a2a", "breaker": "off"}
            for path, target in PATHS.items()
        },
        "endpoints": {
            path: {
                "upstream": path[1:],
                "request": "mapped",
                "protocol_options": {"a2a": OPTIONS.get(path, {})},
            }
            for path in PATHS
        },
    }


SERVER: Final = Server(
    requirements=("a2a-sdk[http-server]==1.3.0", "uvicorn>=0.30,<1", "httpx>=0.27,<1"),
    command=lambda place: (
        *("-m", "uvicorn", "--app-dir", str(APPS.parent), "apps.a2a_v1:app", "--port", str(place.port)),
    ),
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1"},
    gateway=gateway,
    cases=[
        *at("/chat", (*ANSWERED, REASONING, *REFUSED, RAISED, CUT, LEFT)),
        *at("/old", (*ANSWERED, REASONING, *REFUSED, RAISED, CUT)),
        # what was thought stands in the history of a single answer, and nothing of it where it failed
        *at("/single", (*ANSWERED, *REFUSED, replace(CUT, texts=()))),
        *at("/rest", (*ANSWERED, REASONING, *HIDDEN, RAISED, CUT)),
        # the HTTP+JSON form of 0.3 has no frame for a failure
        *at("/oldrest", (*ANSWERED, REASONING, BROKEN_OFF, CUT)),
    ],
    unwatched="a task goes on without its client",
)
