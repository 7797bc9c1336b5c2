"""An agent on a2a-sdk 0.3, over JSON-RPC, in the HTTP+JSON form, and without a stream."""

from dataclasses import replace
from typing import Final

from common_cases import APPROVE, CUT, HAPPY, LEFT, RAISED, REASONING, REFUSED, REJECT, TOOLS, asked, at
from real_servers import APPS, Case, Fields, Place, Server

PATHS: Final = {"/chat": "/", "/single": "/", "/rest": "/v1/message:stream"}
OPTIONS: Final = {"/single": {"method": "send"}}

CALLED: Final = replace(TOOLS, calls=(), is_parallel=False)
"""The protocol has no calls: the agent's tools run out of sight."""
CANCELLED: Final = Case(scenario="interrupt", status="cancelled")
ANSWERED: Final = (HAPPY, CALLED, asked(APPROVE, then=HAPPY), asked(REJECT, then=CANCELLED))
BROKEN_OFF: Final = replace(RAISED, codes=("UPSTREAM_TRUNCATED", "UPSTREAM_UNREACHABLE"))
"""What an agent raises amid a stream only ends it."""


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
                "protocol_options": {"a2a": {"version": "0.3", **OPTIONS.get(path, {})}},
            }
            for path in PATHS
        },
    }


SERVER: Final = Server(
    requirements=("a2a-sdk[http-server]==0.3.26", "uvicorn>=0.30,<1", "httpx>=0.27,<1"),
    command=lambda place: (
        *("-m", "uvicorn", "--app-dir", str(APPS.parent), "apps.a2a_v03:app", "--port", str(place.port)),
    ),
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1"},
    gateway=gateway,
    cases=[
        *at("/chat", (*ANSWERED, REASONING, *REFUSED, BROKEN_OFF, replace(CUT, texts=()), LEFT)),
        # what was thought stands in the history of a single answer
        *at("/single", (*ANSWERED, *REFUSED, RAISED)),
        *at("/rest", (*ANSWERED, REASONING, *REFUSED, BROKEN_OFF)),
    ],
    unwatched="a task goes on without its client",
)
