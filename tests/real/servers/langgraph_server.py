"""The LangGraph API server in memory, as `langgraph dev` runs it."""

import json
from collections.abc import Sequence
from dataclasses import replace
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
from real_servers import APPS, Fields, Place, Server

GRAPHS: Final = ("agent", "approving")
CASES: Final = (
    *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED, CUT, LEFT),
    asked(APPROVE, then=GRANTED),
)
REJECTED: Final = {"agent": GRANTED, "approving": DENIED}
"""The tool of the first goes on with what `interrupt` returns: False. That of the second is not run."""

AGENT: Final = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
"""The id of the assistant that is made for the graph `agent`."""
OVER_A2A: Final = (
    *(HAPPY, replace(TOOLS, calls=(), is_parallel=False), *HIDDEN, RAISED, CUT),
    *(asked(APPROVE, then=HAPPY), asked(REJECT, then=HAPPY)),
)
"""As an A2A agent: calls of tools are out of sight, a failure's cause is hidden."""


def command(place: Place) -> Sequence[str]:
    """`langgraph dev`, with a configuration that names the graphs."""
    graphs = {name: f"{APPS}/langgraph_agents.py:{name}" for name in GRAPHS}
    config = place.folder / "langgraph.json"
    config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    options = ("--no-browser", "--no-reload", "--port", str(place.port), "--config", str(config))
    return ("-m", "langgraph_cli", "dev", *options)


def gateway(place: Place) -> Fields:
    upstream = {"url": f"{place.url}/runs/stream", "speaks": "langgraph-server", "breaker": "off"}
    agent = {"url": f"{place.url}/a2a/{AGENT}", "speaks": "a2a", "breaker": "off"}
    graphs = {
        f"/{name}": {"upstream": "server", "request": {"mapped": {"assistant_id": name}}} for name in GRAPHS
    }
    over_a2a = {
        "upstream": "agent",
        "request": "mapped",
        "protocol_options": {"a2a": {"progress": "content"}},
    }
    return {
        "upstreams": {"server": upstream, "agent": agent},
        "endpoints": {**graphs, "/a2a": over_a2a},
    }


SERVER: Final = Server(
    requirements=(
        *("langgraph-cli[inmem]==0.4.40", "langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7"),
        *("langgraph==1.2.22", "langchain==1.4.7", "langchain-deepseek==1.1.1"),
    ),
    command=command,
    variables=lambda place: {
        "MODEL": f"{place.model}/asked/v1",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    },
    gateway=gateway,
    ready="/ok",
    cases=[
        *(case for name in GRAPHS for case in at(f"/{name}", (*CASES, asked(REJECT, then=REJECTED[name])))),
        *at("/a2a", OVER_A2A),
    ],
)
