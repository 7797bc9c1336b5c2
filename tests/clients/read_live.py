"""Pages before live servers of either protocol: a question, and a call that a person approves.

pydantic-ai serves AG-UI and the UI message stream, the AI SDK the latter, each with a made-up model.
`useChat` and `HttpAgent` talk to them through the gateway, `request: mapped`. The approval has to find its
way back.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from clients import HERE, installed_package
from environments import environment, started
from ports import free_port, until_open
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
        server: its name.
        path: of the server.
    """

    package: str
    driver: str
    answers: str
    speaks: str
    server: str
    path: str = "/"


TALKS = (
    Talk("ai-6", "dialog_vercel_ui.mjs", "vercel-ui", "ag-ui", "pydantic-ai", "/ag_ui"),
    Talk("ai-6", "dialog_vercel_ui.mjs", "vercel-ui", "vercel-ui", "pydantic-ai", "/vercel"),
    Talk("ai-6", "dialog_vercel_ui.mjs", "vercel-ui", "vercel-ui", "ai-sdk"),
    Talk("ag-ui-1.0", "dialog_ag_ui.mjs", "ag-ui", "vercel-ui", "pydantic-ai", "/vercel"),
    Talk("ag-ui-1.0", "dialog_ag_ui.mjs", "ag-ui", "vercel-ui", "ai-sdk"),
    Talk("ag-ui-1.0", "dialog_ag_ui.mjs", "ag-ui", "ag-ui", "pydantic-ai", "/ag_ui"),
)


def endpoint(talk: Talk, ports: dict[str, int]) -> dict[str, Any]:
    return {
        "upstream": f"http://127.0.0.1:{ports[talk.server]}{talk.path}",
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
    node = installed_package("ai-6")
    shutil.copy(HERE / "ai_sdk_app.mjs", node)
    ports = {"pydantic-ai": free_port(), "ai-sdk": free_port()}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        pydantic = (python, HERE / "pydantic_app.py", str(ports["pydantic-ai"]))
        ai_sdk = ("node", node / "ai_sdk_app.mjs", str(ports["ai-sdk"]))
        with (
            started(*pydantic, folder=folder, log="pydantic-ai.log"),
            started(*ai_sdk, folder=folder, log="ai-sdk.log"),
        ):
            for server, port in ports.items():
                await until_open(port, server, STARTS_WITHIN)
            endpoints = {f"/{index}": endpoint(talk, ports) for index, talk in enumerate(TALKS)}
            async with running_gateway(folder, endpoints=endpoints) as running:
                await running.ready()
                base = f"http://127.0.0.1:{running.at.address[1]}"
                return sum([await lead(talk, f"{base}/{index}") for index, talk in enumerate(TALKS)])


async def lead(talk: Talk, url: str) -> int:
    """Print what is wrong with a talk; return 1 if anything is."""
    wrong = await asyncio.to_thread(led, talk, url)
    print(f"{talk.answers} page, {talk.speaks} server ({talk.server}): {wrong[:2000] or 'as it is'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run_talks()))
