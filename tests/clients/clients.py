"""The official clients: each in an environment of its own below `.cache/`, each a process that reads streams.

A driver gets a request a line (`{"url", "headers"}`) on its input, and writes a line with what its client has
made of the stream. Another client is a package.json with its lock file below `npm/`, or requirements of pip.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import compare_ag_ui
import compare_chat
import compare_vercel_ui
from environments import CACHE, INSTALLS_WITHIN, environment
from replayed import Expected

__all__ = ["CLIENTS", "HERE", "Client", "Process", "installed_package", "started_client"]

HERE = Path(__file__).resolve().parent

Compare = Callable[[Expected, dict[str, Any], "Client"], Iterator[str]]


class Client(NamedTuple):
    """A client, and what is true of a stream that it has read.

    Attributes:
        name: of it, and of its folder below `npm/`.
        protocol: what it is sent.
        driver: the file that lets it read.
        compare: yields what differs from what it has to get.
        options: of the protocol.
        requirements: of pip, where it is no package of Node's.
        folder: below `npm/`, or of the environment, where several clients share one.
        suffix: that the client adds to the URL that it is given.
        reads_copies: it is given the streams of its own protocol as their upstream wrote them, and no others.
    """

    name: str
    protocol: str
    driver: str
    compare: Compare
    options: dict[str, str] = {}  # noqa: RUF012 (read only)
    requirements: tuple[str, ...] = ()
    folder: str | None = None
    suffix: str = ""
    reads_copies: bool = False


CHAT_PACKAGES = ("openai==3.54.0", "anthropic==2.12.0")

SHOWS_CALLS = {"openai-chat": {}, "openai-responses": {}, "anthropic": {"tools": "blocks"}}
"""The options that let a client see calls that have been run."""

CLIENTS = (
    Client("ag-ui-1.0", "ag-ui", "ag_ui.mjs", compare_ag_ui.problems),
    Client("ag-ui-1.0", "ag-ui", "ag_ui.mjs", compare_ag_ui.problems_of_copies, reads_copies=True),
    Client("ag-ui-0.0.57", "ag-ui", "ag_ui.mjs", compare_ag_ui.problems, {"version": "0.0"}),
    Client(
        "ag-ui-0.0.40",
        "ag-ui",
        "ag_ui.mjs",
        compare_ag_ui.problems,
        {"reasoning": "thinking", "version": "0.0"},
    ),
    Client(
        "ag-ui-protocol",
        "ag-ui",
        "ag_ui_events.py",
        compare_ag_ui.problems_of_events,
        requirements=("ag-ui-protocol==1.0.0",),
    ),
    Client("ai-5.0.0", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems),
    Client("ai-5", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems),
    Client("ai-6", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems),
    Client("ai-6", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems, {"sdk": "6"}),
    Client("ai-6", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems_of_copies, reads_copies=True),
    Client("ai-7", "vercel-ui", "vercel_ui.mjs", compare_vercel_ui.problems, {"sdk": "6"}),
    *(
        Client(
            name, protocol, driver, compare_chat.problems, SHOWS_CALLS[protocol], folder="chat", suffix=suffix
        )
        for name, protocol, driver, suffix in (
            ("openai-npm", "openai-chat", "openai_chat.mjs", "/chat/completions"),
            ("openai-npm-responses", "openai-responses", "openai_responses.mjs", "/responses"),
            ("ai-openai-compatible", "openai-chat", "openai_compatible.mjs", "/chat/completions"),
            ("anthropic-npm", "anthropic", "anthropic_messages.mjs", "/v1/messages"),
        )
    ),
    *(
        Client(
            name,
            protocol,
            driver,
            compare_chat.problems,
            SHOWS_CALLS[protocol],
            folder="chat-python",
            suffix=suffix,
            requirements=CHAT_PACKAGES,
        )
        for name, protocol, driver, suffix in (
            ("openai-python", "openai-chat", "openai_python.py", "/chat/completions"),
            ("openai-python-responses", "openai-responses", "openai_python.py", "/responses"),
            ("anthropic-python", "anthropic", "anthropic_python.py", "/v1/messages"),
        )
    ),
)


class Process:
    """A driver that runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def read(self, url: str, headers: dict[str, str]) -> dict[str, Any]:
        """Let the client read the stream at `url`; return what it has made of it."""
        return self.ask({"url": url, "headers": headers})

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """Give the driver one line; return the line that it answers with."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the client has ended")
        found: dict[str, Any] = json.loads(line)
        return found


def installed(client: Client) -> list[str]:
    """Return the command that runs the driver of `client`, which is installed once."""
    if client.requirements:
        python = environment(f"clients/{client.folder or client.name}", *client.requirements)
        return [str(python), str(HERE / client.driver), client.protocol]
    folder = installed_package(client.folder or client.name)
    shutil.copy(HERE / client.driver, folder / client.driver)
    return ["node", str(folder / client.driver)]


def installed_package(name: str) -> Path:
    """Return the folder in which the packages of `npm/NAME` are installed, which is done once."""
    folder, locked = CACHE / "clients" / name, HERE / "npm" / name
    wanted = (locked / "package-lock.json").read_bytes()
    mark = folder / ".installed"
    if not mark.exists() or mark.read_bytes() != wanted:
        print(f"installing {name}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(locked, folder)
        quiet = ("--silent", "--ignore-scripts", "--no-audit", "--no-fund")
        subprocess.run(["npm", "ci", *quiet], cwd=folder, timeout=INSTALLS_WITHIN, check=True)
        mark.write_bytes(wanted)
    return folder


@contextmanager
def started_client(client: Client) -> Iterator[Process]:
    """Run the driver of `client` for as long as the block takes."""
    process = subprocess.Popen(installed(client), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Process(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
