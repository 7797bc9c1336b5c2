"""The programs of docs/chat-clients.md, against what `make run` serves: as they stand, at another port."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from clients import CHAT_PACKAGES, installed_package
from command_line import COMMAND
from environments import environment
from places import ROOT
from running_gateway import Running

SERVED_AT = "127.0.0.1:8080"
SHOWN = "128 orders"
"""A part of what the demo answers."""

WITHIN = 60.0
_PROGRAM = re.compile(r"<!-- (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)


def programs() -> dict[str, str]:
    """Return the programs of the page by their names."""
    return dict(_PROGRAM.findall((ROOT / "docs/chat-clients.md").read_text()))


def shown_by(name: str, code: str, address: str) -> str:
    """Run a program against the gateway at `address`; return what it shows."""
    assert SERVED_AT in code
    if name.endswith(".mjs"):
        folder, command = installed_package("chat"), ["node", name]
    else:
        python = environment("clients/chat-python", *CHAT_PACKAGES)
        folder, command = python.parent.parent, [str(python), name]
    (folder / name).write_text(code.replace(SERVED_AT, address))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WITHIN, check=False)
    return done.stdout + done.stderr


async def run_programs() -> int:
    """Run all programs; return how many do not show the answer."""
    arguments = ("serve", str(ROOT / "config.yaml"), "--listen", "127.0.0.1:0")
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env={**os.environ, "CONSOLE_LISTEN": "127.0.0.1:0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    with tempfile.TemporaryDirectory() as folder:
        running = Running(process, Path(folder))
        try:
            await running.ready()
            address = f"127.0.0.1:{running.at.address[1]}"
            return sum([await show(name, code, address) for name, code in programs().items()])
        finally:
            process.kill()
            await running.ended()


async def show(name: str, code: str, address: str) -> int:
    """Print whether a program shows the answer; return 1 if not."""
    shown = await asyncio.to_thread(shown_by, name, code, address)
    fails = SHOWN not in shown
    print(f"{name}: {f'shows {shown!r}' if fails else 'shows the answer'}")
    return int(fails)


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(run_programs()) else 0)
