"""The LangGraph API server in memory, as `langgraph dev` runs it."""

import json
from collections.abc import Iterator, Mapping, Sequence
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
from real_servers import APPS, Case, Fields, Place, Server

GRAPHS: Final = ("agent", "approving", "nested")
ENDPOINTS: Final[Mapping[str, Fields]] = {
    "/agent": {"assistant_id": "agent"},
    "/approving": {"assistant_id": "approving"},
    "/nested": {"assistant_id": "nested", "stream_subgraphs": True},
    "/hidden": {"assistant_id": "nested"},
    "/values": {"assistant_id": "approving", "stream_mode": ["values"]},
    "/growing": {"assistant_id": "agent", "stream_mode": ["messages"]},
    "/tasks": {"assistant_id": "approving", "stream_mode": ["tasks"]},
    "/debug": {"assistant_id": "agent", "stream_mode": ["debug"]},
    "/all": {
        "assistant_id": "nested",
        "stream_subgraphs": True,
        "stream_mode": ["values", "updates", "messages", "messages-tuple", "tasks", "checkpoints", "custom"],
    },
}
"""What is laid over a request: each graph, and the stream modes."""

CASES: Final = (
    *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED, CUT, LEFT),
    asked(APPROVE, then=GRANTED),
)
MODES: Final = (HAPPY, TOOLS, REASONING)


def cases() -> Iterator[Case]:
    """Everything of the first graphs; of the modes what they show in ways of their own.

    After a refusal the tool of `agent` goes on with what `interrupt` returns: False. That of `approving` is
    not run.
    """
    for path in ("/agent", "/approving", "/nested"):
        refused = DENIED if path == "/approving" else GRANTED
        yield from at(path, (*CASES, asked(REJECT, then=refused)))
    for path in ("/hidden", "/values", "/growing", "/tasks", "/debug", "/all"):
        yield from at(path, MODES)
        if path != "/growing":  # where nobody is shown that a person is asked
            yield from at(path, [asked(APPROVE, then=GRANTED)])


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
    start = ("-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "8")
    return (*start, "--port", str(place.port), "--config", str(config))


def gateway(place: Place) -> Fields:
    upstream = {"url": f"{place.url}/runs/stream", "speaks": "langgraph-server", "breaker": "off"}
    agent = {"url": f"{place.url}/a2a/{AGENT}", "speaks": "a2a", "breaker": "off"}
    graphs = {
        path: {"upstream": "server", "request": {"mapped": {**overlay}}}
        for path, overlay in ENDPOINTS.items()
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
    at_once=4,  # a run waits up to a second before it begins
    leave_tries=3,  # its log says "Cancelled runs", but a worker that has just begun may not hear of it
    cases=[*cases(), *at("/a2a", OVER_A2A)],
)
