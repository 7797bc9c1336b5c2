"""Pages before live servers of the other protocol: a question, and a call that a person approves.

pydantic-ai serves AG-UI and the UI message stream with a made-up model; `useChat` and `HttpAgent` talk to
both through the gateway with `request: mapped`. The approval has to find its way back.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from clients import HERE, installed_package
from environments import environment, started
from running_gateway import running_gateway

REQUIREMENTS = ("pydantic-ai-slim[ag-ui]==2.68.0", "uvicorn>=0.30,<1")
STARTS_WITHIN = 60.0
WITHIN = 60.0
SHOWS = (("weather?", False, "sunny in Rome"), ("book it", True, "booked Rome"))
"""What is asked, whether a person has to approve, and what the answer holds."""


class Talk(NamedTuple):
    """A page, and the server that it talks to.

    Attributes:
        package: of the page's client, below `npm/`.
        driver: that leads the talk.
        answers: the page's protocol.
        speaks: the server's.
        path: of the server.
    """

    package: str
    driver: str
    answers: str
    speaks: str
    path: str


TALKS = (
    Talk("ai-6", "dialog_vercel_ui.mjs", "vercel-ui", "ag-ui", "/ag_ui"),
    Talk("ai-6", "dialog_vercel_ui.mjs", "vercel-ui", "vercel-ui", "/vercel"),
    Talk("ag-ui-1.0", "dialog_ag_ui.mjs", "ag-ui", "vercel-ui", "/vercel"),
    Talk("ag-ui-1.0", "dialog_ag_ui.mjs", "ag-ui", "ag-ui", "/ag_ui"),
)


def endpoint(talk: Talk, server: str) -> dict[str, Any]:
    return {
        "upstream": f"{server}{talk.path}",
        "speaks": talk.speaks,
        "answers": [talk.answers],
        "request": "mapped",
        "protocol_options": {"vercel-ui": {"sdk": "6"}},
    }


def led(talk: Talk, url: str) -> str:
    """Lead a talk at `url`; return what is wrong with what the page shows."""
    folder = installed_package(talk.package)
    (folder / talk.driver).write_bytes((HERE / talk.driver).read_bytes())
    command = ["node", talk.driver, url]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WITHIN, check=False)
    if done.returncode:
        return done.stderr
    shown = json.loads(done.stdout)
    fits = all(
        seen["asked"] is asked and words in seen["text"] and seen["error"] is None
        for (_, asked, words), seen in zip(SHOWS, shown, strict=True)
    )
    return "" if fits else done.stdout


async def run_talks() -> int:
    """Lead all talks; return the exit code."""
    python = environment("clients/pydantic-ai", *REQUIREMENTS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = started(python, HERE / "pydantic_app.py", str(port), folder=folder, log="server.log")
        with server:
            await listening(port)
            url = f"http://127.0.0.1:{port}"
            endpoints = {f"/{index}": endpoint(talk, url) for index, talk in enumerate(TALKS)}
            async with running_gateway(folder, endpoints=endpoints) as running:
                await running.ready()
                base = f"http://127.0.0.1:{running.at.address[1]}"
                return sum([await lead(talk, f"{base}/{index}") for index, talk in enumerate(TALKS)])


async def lead(talk: Talk, url: str) -> int:
    """Print what is wrong with a talk; return 1 if anything is."""
    wrong = await asyncio.to_thread(led, talk, url)
    print(f"{talk.answers} page, {talk.speaks} server: {wrong[:2000] or 'as it is'}")
    return 1 if wrong else 0


async def listening(port: int) -> None:
    for _ in range(int(STARTS_WITHIN / 0.2)):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.2)
        else:
            writer.close()
            return
    sys.exit("the server did not start")


if __name__ == "__main__":
    sys.exit(asyncio.run(run_talks()))
