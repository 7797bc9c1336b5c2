"""The console's page in a real Chromium, used as a person uses it: by roles, names and keys."""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from places import ROOT

SOURCES: Final = ROOT / "gateway" / "console"
_DRIVER: Final = ROOT / ".cache" / "browser"
_PATIENCE: Final = 30.0


class Page:
    """One page, in a browser context of its own."""

    def __init__(self, browser: "ConsoleBrowser", number: int) -> None:
        self._browser = browser
        self._number = number

    async def do(self, action: str, **order: Any) -> Any:
        """Carry out an action of the driver; see console_driver.mjs."""
        return await self._browser.order({"page": self._number, "do": action, **order})

    async def evaluate(self, script: str, argument: Any = None) -> Any:
        """Return the result of a function, given as JavaScript."""
        return await self.do("evaluate", script=script, argument=argument)

    async def wait(self, script: str, argument: Any = None) -> Any:
        """Wait until a function returns something true, and return it."""
        return await self.do("wait", script=script, argument=argument)

    async def press(self, *keys: str) -> None:
        await self.do("press", keys=keys)

    async def click(self, role: str, name: str, *, exact: bool = True) -> None:
        await self.do("click", role=role, name=name, exact=exact)

    async def focus(self, role: str, name: str) -> None:
        await self.do("focus", role=role, name=name, exact=True)

    async def appears(self, role: str, name: str) -> None:
        """Wait for an element with a role, whose name begins with or holds a text."""
        await self.do("appears", role=role, name=name)

    async def text(self, role: str, name: str) -> str:
        text: str = await self.do("text", role=role, name=name, exact=True)
        return text

    async def rows(self) -> list[dict[str, str]]:
        """The rows of the table of streams that are in the document: their fields, and `id`."""
        found: list[dict[str, str]] = await self.evaluate(_ROWS)
        return found

    async def row(self, **wanted: str) -> dict[str, str]:
        """Wait for a row with these fields."""
        found: dict[str, str] = await self.wait(
            f"(wanted) => ({_ROWS})().find((row) => Object.entries(wanted).every(([k, v]) => row[k] === v))",
            wanted,
        )
        return found

    async def options(self, lane: str) -> list[dict[str, Any]]:
        """The options of a lane that are in the document."""
        found: list[dict[str, Any]] = await self.evaluate(_OPTIONS, lane)
        return found

    async def assert_quiet(self) -> None:
        """No error was logged: of scripts, or against the page's policy."""
        assert await self.do("problems") == []

    async def assert_accessible(self) -> None:
        """axe-core finds nothing that is serious or worse, and the page does not scroll sideways."""
        assert await self.do("axe") == []
        width, inner = await self.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert width <= inner


_ROWS: Final = """() => [...document.querySelectorAll('[aria-label=Streams] [data-id]')].map((row) => {
    const cells = [...row.querySelectorAll('[data-field]')];
    const fields = Object.fromEntries(cells.map((cell) => [cell.dataset.field, cell.innerText.trim()]));
    return {...fields, id: row.dataset.id, request_id: row.dataset.requestId};
})"""
_OPTIONS: Final = """(lane) => [...document.querySelectorAll(`[aria-label=${lane}] [role=option]`)].map(
    (option) => ({...option.dataset, text: option.innerText, selected: option.ariaSelected === 'true',
        top: option.getBoundingClientRect().top, size: Number(option.ariaSetSize)})
)"""


class ConsoleBrowser:
    """The driver's process."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes]) -> None:
        self._orders = orders
        self._answers = answers
        self._numbers = itertools.count(1)

    async def open(self, target: str, **options: Any) -> Page:
        """Open a page. Options: dark, width, height."""
        page = Page(self, next(self._numbers))
        await page.do("open", target=target, **options)
        return page

    async def order(self, order: dict[str, Any]) -> Any:
        """Have something done, and return what came of it."""
        return await asyncio.to_thread(self._exchange, order)

    def _exchange(self, order: dict[str, Any]) -> Any:
        self._orders.write(json.dumps(order).encode() + b"\n")
        self._orders.flush()
        answer = json.loads(self._answers.readline() or '{"error": "the browser is gone"}')
        assert "error" not in answer, (order, answer["error"])
        return answer["value"]


def build_page() -> None:
    """Build the page from its sources."""
    npm = shutil.which("npm")
    assert npm, "the page is built by npm"
    if not (SOURCES / "node_modules").exists():
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=SOURCES, check=True)
    subprocess.run([npm, "run", "--silent", "build"], cwd=SOURCES, check=True, stdout=sys.stderr)


@contextmanager
def console_browser() -> Iterator[ConsoleBrowser]:
    """Run the browser."""
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    assert chromium, "no Chromium: `make browser` installs it"
    playwright = _DRIVER if (_DRIVER / "node_modules").exists() else SOURCES
    axe = SOURCES / "node_modules" / "axe-core" / "axe.min.js"
    driver = Path(ROOT, "tests/browser/console_driver.mjs")
    command = ["node", str(driver), str(playwright), str(axe), chromium]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield ConsoleBrowser(process.stdin, process.stdout)
        process.stdin.close()
        try:
            process.wait(timeout=_PATIENCE)
        finally:
            process.kill()
