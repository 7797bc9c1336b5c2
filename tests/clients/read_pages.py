"""The pages that the documents show, against what `make run` serves.

A page stands between marks in the README of its protocol's dialect: it is run as it is, at another port.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from clients import HERE, installed_package
from command_line import COMMAND
from places import ROOT
from running_gateway import Running

SERVED_AT = "127.0.0.1:8080"
"""Where `make run` listens."""

WITHIN = 60.0


class Page(NamedTuple):
    """A page, and what it is run with.

    Attributes:
        dialect: the folder of the dialect whose README shows it.
        package: below `npm/`.
        driver: the file that runs it.
        shows: what it has to show in the end.
    """

    dialect: str
    package: str
    driver: str
    shows: tuple[str, ...]


PAGES = (
    Page("ag_ui", "ag-ui-1.0", "page_ag_ui.mjs", ("128 orders", "success")),
    Page("vercel_ui", "react", "page_react.mjs", ("128 orders", "ready")),
)


def code_of(page: Page) -> str:
    """The code of a page as its README shows it."""
    readme = (ROOT / "middleware/streamweir/dialects" / page.dialect / "README.md").read_text()
    (code,) = re.findall(r"<!-- page -->\n```js\n(.*?)```\n", readme, re.DOTALL)
    return str(code)


def shown_by(page: Page, address: str) -> str:
    """Run a page against the gateway at `address`; return what it shows."""
    folder = installed_package(page.package)
    code = code_of(page)
    assert SERVED_AT in code
    (folder / "page.mjs").write_text(code.replace(SERVED_AT, address))
    (folder / page.driver).write_bytes((HERE / page.driver).read_bytes())
    command = ["node", page.driver]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WITHIN, check=False)
    return done.stdout + done.stderr


async def run_pages() -> int:
    """Run all pages; return the exit code."""
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
            return sum([await show(page, address) for page in PAGES])
        finally:
            process.kill()
            await running.ended()


async def show(page: Page, address: str) -> int:
    """Print what is wrong with a page; return 1 if anything is."""
    shown = await asyncio.to_thread(shown_by, page, address)
    missing = [words for words in page.shows if words not in shown]
    print(f"the page of {page.dialect}: {f'lacks {missing}: {shown}' if missing else 'shows the answer'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run_pages()))
