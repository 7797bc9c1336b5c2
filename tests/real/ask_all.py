"""Real servers with a scripted model, behind the gateway or under the middleware: what clients get of them.

    make real                    every file of tests/real/servers, two at a time
    make real ARGS="hayhooks"    these alone

The model answers, calls tools side by side, thinks, refuses (401, 429, 500), breaks off, has a person asked,
or goes on until the client leaves. Every stream keeps the protocol, ends as it must and holds no secret of
the model's; a client that leaves leaves nothing running. If not, the exit code is 1, and the last lines
say what went wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from environments import environment, started
from hosts import Host
from loopback import Answer, Client, client
from ports import free_port
from real_checks import problems_of
from real_servers import Case, Fields, Place, Server, real_servers
from running_gateway import Running, running_gateway
from scripted_model import play
from scripted_upstream import Upstream, upstream

AT_ONCE: Final = 2
"""Servers that run side by side."""
STARTS_WITHIN: Final = 120.0
ANSWERS_WITHIN: Final = 60.0
"""Seconds; the first answer of some servers loads half of what they are made of."""

LEFT_WITHIN: Final = 10.0
"""Seconds after a client's leave in which the model must have been left too; how fast is up to the server."""
SHOWN_LINES: Final = 40
SHOWN_WIDTH: Final = 400
"""Of a server's log, where something went wrong."""

TOPIC: Final = "Which region sells most? 哪个地区卖得最多？"
HEADERS: Final = [("Content-Type", "application/json"), ("X-Workspace-Id", "trial")]


class Asking:
    """A server with its model and the gateway, and who asks them."""

    def __init__(self, server: Server, place: Place, model: Upstream, gateway: Running) -> None:
        self.server = server
        self.place = place
        self.model = model
        self.gateway = gateway
        self._numbers = itertools.count(1)

    async def run(self, case: Case, tries: int = 1) -> list[str]:
        """Send the request of a case. Return the problems of the answer.

        If a second request follows the first, the problems of its answer are returned too. A client that
        leaves does so at most `tries` times, until nothing is left running.
        """
        question = f"{TOPIC} scenario={case.scenario} number={next(self._numbers)}."
        thread = str(uuid.uuid4())
        body = (
            case.writes(self.place, question)
            if case.writes
            else {"message": question, "thread_id": thread, **(case.body or {})}
        )
        if case.status == "left":
            found = await self._leave(case, body, question)
            return await self.run(case, tries - 1) if found and tries > 1 else found
        answer = await self._whole(case, body)
        found = [*problems_of(case, answer)]
        if case.then is None or found:
            return found
        resume = [
            {"interaction_id": asked["interaction_id"], "resume": asked.get("resume"), **(case.answers or {})}
            for asked in interactions_of(answer)
        ]
        then = await self._whole(case.then, {"thread_id": thread, "resume": resume, **(case.body or {})})
        return [f"then: {problem}" for problem in problems_of(case.then, then)]

    async def _whole(self, case: Case, body: Fields) -> Answer:
        async with asyncio.timeout(ANSWERS_WITHIN), self._sent(case, body) as asking:
            while await asking.step():
                pass
            return asking.answer

    async def _leave(self, case: Case, body: Fields, question: str) -> list[str]:
        """Leave amid the answer; who works for it has to notice."""
        async with asyncio.timeout(ANSWERS_WITHIN), self._sent(case, body) as asking:
            await asking.until(b'"content"')
        began = time.monotonic()
        while not self._is_left(case, question):
            if time.monotonic() - began > LEFT_WITHIN:
                return [f"somebody was still at work {LEFT_WITHIN:.0f} s after the client had left"]
            await asyncio.sleep(0.05)
        return []

    @asynccontextmanager
    async def _sent(self, case: Case, body: Fields) -> AsyncIterator[Client]:
        """Send a request; the client leaves at the end of the block."""
        address = ("127.0.0.1", self.place.port) if case.is_direct else self.gateway.at.address
        listening: Any = Host(address)
        async with client(listening) as connected:
            connected.send(target=case.path, headers=HEADERS, body=json.dumps(body).encode())
            yield connected

    def _is_left(self, case: Case, question: str) -> bool:
        """Is nobody at work? Where the server never leaves its model the gateway's log counts."""
        if self.server.unwatched:
            lines = [line for line in self.gateway.told if line.get("endpoint") == case.path]
            return any(line.get("reason") == "client_gone" for line in lines)
        marker = question[question.index("number=") :].encode()
        calls = [call for call in self.model.calls if marker in call.body]
        return bool(calls) and all(call.closed.is_set() for call in calls)


def interactions_of(answer: Answer) -> list[Fields]:
    """What a person is asked by an answer."""
    asked = (event["data"] for event in answer.events if event["type"] == "interaction")
    return [data for data in asked if data["state"] == "requested"]


# Running


async def run_server(name: str, server: Server) -> list[str]:
    """Install and start a server, ask everything, print what was found, return what went wrong."""
    python = await asyncio.to_thread(environment, f"real/{name}", *server.requirements)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with upstream(play) as model:
            place = Place(free_port(), model.url, Path(folder))
            command: tuple[str | Path, ...] = (python, *server.command(place))
            with started(
                *command, folder=place.folder, log="server.log", **server.variables(place)
            ) as process:
                broken = (
                    await ask(name, server, place, model)
                    if await serves(server, place, process)
                    else [f"{name} did not start"]
                )
        if broken:
            print_log(name, place.folder / "server.log")
    took = time.monotonic() - began
    unwatched = f"; does not watch its client: {server.unwatched}" if server.unwatched else ""
    print(f"{name}: {len(server.cases)} requests, {len(broken)} went wrong, {took:.0f} s{unwatched}")
    return broken


async def problem_of(name: str, asking: Asking, case: Case) -> str:
    """Run a case, print what was found, and return the line if something went wrong."""
    try:
        found = await asking.run(case, asking.server.leave_tries)
    except (TimeoutError, OSError, AssertionError, LookupError) as error:
        found = [f"{type(error).__name__}: {error}"]
    line = f"{name:20} {case!s:36} {'; '.join(found) or 'ok'}"
    print(line, flush=True)
    return line if found else ""


async def ask(name: str, server: Server, place: Place, model: Upstream) -> list[str]:
    """Ask a server everything, and return what went wrong."""
    async with running_gateway(place.folder, **server.gateway(place)) as gateway:
        await gateway.ready()
        asking, room = Asking(server, place, model, gateway), asyncio.Semaphore(server.at_once)

        async def ask_one(case: Case) -> str:
            async with room:
                return await problem_of(name, asking, case)

        return [line for line in await asyncio.gather(*map(ask_one, server.cases)) if line]


async def serves(server: Server, place: Place, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server serves; False where it ends, or takes too long."""
    latest = time.monotonic() + STARTS_WITHIN
    async with httpx.AsyncClient(trust_env=False) as asking:
        while time.monotonic() < latest and process.poll() is None:
            try:
                answer = await asking.get(place.url + server.ready)
            except httpx.TransportError:
                await asyncio.sleep(0.2)
                continue
            if not server.ready or answer.status_code == 200:
                return True
            await asyncio.sleep(0.2)
    return False


def print_log(name: str, log: Path) -> None:
    """The last lines of a server's log."""
    for line in log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]:
        print(f"{name} | {line[:SHOWN_WIDTH]}")


async def run_all(names: Sequence[str]) -> int:
    """Run the servers with these names, or all; return the exit code."""
    room = asyncio.Semaphore(AT_ONCE)

    async def run(name: str, server: Server) -> list[str]:
        async with room:
            return await run_server(name, server)

    servers = real_servers(names)
    results = await asyncio.gather(*(run(name, server) for name, server in servers.items()))
    broken = [line for lines in results for line in lines]
    print(
        f"{sum(len(server.cases) for server in servers.values())} requests to {len(servers)} real server(s):"
        f" {len(broken)} went wrong"
    )
    print(*broken, sep="\n", end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run_all(sys.argv[1:])))
