"""Real servers with a scripted model, behind the gateway and under the middleware: what clients get of them.

    make real                    a minute or two, once the servers are installed into .cache/

Data Formulator 0.7.0 (its agent, loading chat, report and recommended questions) and a LangGraph app that
writes the chat envelope, new and flat. The model answers, calls tools side by side, refuses (401, 429, 500),
breaks off, has a person asked, or goes on until the client leaves. Every stream keeps the protocol, ends as
it must and holds no secret of the model's; a client that leaves leaves nothing running. Exit code 1 if not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from environments import environment, started
from hosts import Host
from loopback import Answer, Client, client
from places import ROOT
from ports import free_port, until_open
from running_gateway import Running, running_gateway
from scripted_model import ANSWER, play
from scripted_upstream import Upstream, upstream
from streams import PLANTED
from streamweir.testing import check_stream

DATA_FORMULATOR: Final = ("data_formulator==0.7.0", "litellm==1.106.2", "mcp>=2,<3")
"""Its own dependency litellm imports mcp where tools are called, and does not ask for it."""

LANGGRAPH: Final = (
    *("langgraph==1.2.22", "langchain-openai==1.7.3", "fastapi>=0.115,<1", "uvicorn>=0.30,<1"),
    *("--editable", str(ROOT)),
)
STARTS_WITHIN: Final = 120.0
ANSWERS_WITHIN: Final = 60.0
LEFT_WITHIN: Final = 5.0
"""Seconds after a client's leave in which the model must have been left too."""

AT_ONCE: Final = 4
ALL_WITHIN: Final = 600.0

Address = tuple[str, int]


class Case(NamedTuple):
    """A request, and how its stream has to end.

    Attributes:
        place: what is asked: a key of `BODIES`.
        scenario: what the model does.
        status: of the end.
        codes: what an error may be called.
    """

    place: str
    scenario: str
    status: str
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    calls: int = 0


REFUSED: Final = {
    "401": ("AUTH_FAILED",),
    "429": ("RATE_LIMITED", "LLM_RATE_LIMIT"),
    "500": ("UPSTREAM_ERROR",),
}

HIDDEN: Final = {("gateway/agent", "401"): ("UPSTREAM_ERROR",)}
"""Where a server itself does not let out what went wrong: of this it says `Model request failed`."""


def cases() -> Iterator[Case]:
    """Everything that is asked."""
    for place in (
        "gateway/new",
        "gateway/flat",
        "middleware/new",
        "middleware/flat",
        "gateway/agent",
        "gateway/loading",
    ):
        yield Case(place, "happy", "completed", texts=(ANSWER,))
        yield Case(place, "tools", "completed", texts=(ANSWER,), calls=2)
        for refusal in REFUSED:
            yield Case(place, refusal, "error", codes=HIDDEN.get((place, refusal), REFUSED[refusal]))
        yield Case(place, "cut", "error", texts=() if place.endswith("agent") else ("West sells",))
        if not place.endswith("loading"):
            yield Case(place, "interrupt", "suspended")
        if not place.endswith("agent"):
            yield Case(place, "slow", "")
        if place.endswith(("new", "flat")):
            yield Case(
                place,
                "crash",
                "error",
                codes=("UPSTREAM_TRUNCATED", "UPSTREAM_UNREACHABLE"),
                texts=("West sells",),
            )
    yield Case("gateway/report", "happy", "completed", texts=(ANSWER,))
    yield Case("gateway/report", "429", "error", codes=REFUSED["429"])
    yield Case("gateway/questions", "429", "error", codes=REFUSED["429"])


TABLES: Final = [
    {"name": "sales", "rows": [{"region": "east", "amount": 3}, {"region": "west", "amount": 5}]}
]
CHART: Final = {
    "chart_id": "c1",
    "chart_type": "Bar Chart",
    "encodings": {"x": "region", "y": "amount"},
    "table_ref": "sales",
}
TOPIC: Final = "Which region sells most? 哪个地区卖得最多？"


HEADERS: Final = [("Content-Type", "application/json"), ("X-Workspace-Id", "trial")]


class Servers:
    """Where everything listens."""

    def __init__(self, model: Upstream, gateway: Running, app: Address) -> None:
        self.model = model
        self.gateway = gateway
        self.app = app

    def is_left(self, case: Case) -> bool:
        """Is nobody at work? Data Formulator never leaves its model: there the gateway's log counts."""
        if case.place == "gateway/loading":
            lines = [line for line in self.gateway.told if line.get("endpoint") == "/loading"]
            return any(line.get("reason") == "client_gone" for line in lines)
        calls = [call for call in self.model.calls if call.target.startswith("/slow/v1/")]
        return bool(calls) and all(call.closed.is_set() for call in calls)

    def body(self, case: Case) -> bytes:
        """What a client of this place sends."""
        chosen = {
            "id": "m1",
            "endpoint": "openai",
            "model": "gpt-4o-mini",
            "api_key": "sk-fake",
            "api_base": f"{self.model.url}/{case.scenario}/formulator/v1",
        }
        bodies: dict[str, dict[str, Any]] = {
            "agent": {"model": chosen, "input_tables": TABLES, "user_question": TOPIC},
            "loading": {"model": chosen, "messages": [{"role": "user", "content": TOPIC}]},
            "report": {"model": chosen, "input_tables": TABLES, "charts": [CHART], "user_prompt": TOPIC},
            "questions": {"model": chosen, "input_tables": TABLES},
        }
        plain = {"message": TOPIC, "scenario": case.scenario}
        return json.dumps(bodies.get(case.place.partition("/")[2], plain)).encode()

    @asynccontextmanager
    async def asking(self, case: Case) -> AsyncIterator[Client]:
        """Send the request of a case; the client leaves at the end of the block."""
        door, _, name = case.place.partition("/")
        address, target = (
            (self.gateway.at.address, f"/{name}")
            if door == "gateway"
            else (self.app, f"/normalized/chat/{name}")
        )
        listening: Any = Host(address)
        async with client(listening) as connected:
            connected.send(target=target, headers=HEADERS, body=self.body(case))
            yield connected


async def run_case(servers: Servers, case: Case) -> list[str]:
    """Ask, and return what is wrong with the answer."""
    async with asyncio.timeout(ANSWERS_WITHIN):
        if case.scenario == "slow":
            return await leave(servers, case)
        async with servers.asking(case) as asking:
            while await asking.step():
                pass
            return [*problems_of(case, asking.answer)]


async def leave(servers: Servers, case: Case) -> list[str]:
    """Leave amid the answer; who works for it has to notice."""
    async with servers.asking(case) as asking:
        await asking.until(b'"content"')
    began = time.monotonic()
    while not servers.is_left(case):
        if time.monotonic() - began > LEFT_WITHIN:
            return [f"somebody was still at work {LEFT_WITHIN:.0f} s after the client had left"]
        await asyncio.sleep(0.05)
    return []


def problems_of(case: Case, answer: Answer) -> Iterator[str]:
    """What is wrong with an answer, in words."""
    if answer.status != 200 or not answer.is_whole:
        yield f"HTTP {answer.status}, {'whole' if answer.is_whole else 'broken off'}: {answer.body[:300]!r}"
        return
    yield from check_stream(answer.body, headers=dict(answer.headers))
    yield from (f"holds the secret {secret}" for secret in PLANTED if secret.encode() in answer.body)
    end, error = answer.end, answer.error or {}
    if end["status"] != case.status:
        yield f"ended as {end}, {error}; expected: {case.status}"
    if case.codes and error.get("code") not in case.codes:
        yield f"failed as {error.get('code')}; expected: {', '.join(case.codes)}"
    yield from (f"does not say {text!r}: {answer.text!r}" for text in case.texts if text not in answer.text)
    if case.calls:
        yield from problems_of_calls(case, answer)


def problems_of_calls(case: Case, answer: Answer) -> Iterator[str]:
    """Every call ended well, and at LangGraph both were open at a time."""
    ends = [event["data"]["status"] for event in answer.events if event["type"] == "tool_call_end"]
    if ends != ["success"] * case.calls:
        yield f"its calls ended as {ends}"
    kinds = [kind for kind in answer.types if kind in ("tool_call_start", "tool_call_end")]
    if case.place.endswith(("new", "flat")) and kinds[: case.calls] != ["tool_call_start"] * case.calls:
        yield f"its calls were not side by side: {kinds}"


@asynccontextmanager
async def servers() -> AsyncIterator[Servers]:
    """Start the model, both servers and the gateway before them."""
    formulator, langgraph = (
        environment("real/data-formulator", *DATA_FORMULATOR),
        environment("real/langgraph", *LANGGRAPH),
    )
    ports = free_port(), free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        async with upstream(play) as model:
            stack.enter_context(
                started(
                    formulator, "-m", "data_formulator", "--port", str(ports[0]), "--data-dir", name,
                    folder=folder, log="data-formulator.log",
                    BROWSER="true", LITELLM_LOCAL_MODEL_COST_MAP="True",
                )
            )  # fmt: skip
            stack.enter_context(
                started(
                    langgraph, "-m", "uvicorn", "--app-dir", str(ROOT / "tests/real"), "langgraph_app:app",
                    "--port", str(ports[1]), folder=folder, log="langgraph.log", MODEL=model.url,
                )
            )  # fmt: skip
            await until_open(ports[0], "Data Formulator", STARTS_WITHIN)
            await until_open(ports[1], "the LangGraph app", STARTS_WITHIN)
            async with running_gateway(folder, **configuration(*ports)) as running:
                await running.ready()
                yield Servers(model, running, ("127.0.0.1", ports[1]))


def configuration(formulator: int, langgraph: int) -> dict[str, Any]:
    """A gateway before both."""
    api = f"http://127.0.0.1:{formulator}/api/agent"
    chat = f"http://127.0.0.1:{langgraph}/chat"
    urls = {
        "agent": f"{api}/data-agent-streaming",
        "loading": f"{api}/data-loading-chat",
        "report": f"{api}/generate-report-chat",
        "questions": f"{api}/get-recommendation-questions",
        "new": f"{chat}/new",
        "flat": f"{chat}/flat",
    }
    speaks = {
        name: "stream-envelope" if url.startswith(chat) else "data-formulator" for name, url in urls.items()
    }
    upstreams = {name: {"url": url, "speaks": speaks[name], "breaker": "off"} for name, url in urls.items()}
    endpoints = {f"/{name}": {"upstream": name, "forward_headers": ["X-Workspace-Id"]} for name in urls}
    return {"upstreams": upstreams, "endpoints": endpoints}


async def run_all() -> int:
    """Run all cases, print what was found, return the exit code."""
    room = asyncio.Semaphore(AT_ONCE)
    async with servers() as running, asyncio.timeout(ALL_WITHIN):

        async def run(case: Case) -> list[str]:
            async with room:
                try:
                    found = await run_case(running, case)
                except (TimeoutError, OSError, AssertionError) as error:
                    found = [f"{type(error).__name__}: {error}"]
            print(f"{case.place:18} {case.scenario:10} {'; '.join(found) or 'ok'}", flush=True)
            return found

        results = await asyncio.gather(*map(run, cases()))
    broken = sum(map(bool, results))
    print(f"{len(results)} requests to real servers: {broken} went wrong")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run_all()))
