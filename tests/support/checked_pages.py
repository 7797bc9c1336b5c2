"""Runs the checks of a page in Chromium: files in tests/browser/, by checked_page.mjs."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from typing import Final

from places import ROOT

__all__ = ["checks_of", "run_check"]

_PAGES: Final = ROOT / "tests" / "browser"
_INSTALLED: Final = ROOT / ".cache" / "browser"
_PATIENCE: Final = 100


def checks_of(file: str) -> list[str]:
    """Return the names of the checks in a file."""
    found = re.findall(r'^  async "([^"]+)"', (_PAGES / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{file} has no check"
    return found


async def run_check(file: str, name: str, address: str) -> None:
    """Run a check of the page at `address`."""
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    assert chromium, "no Chromium: `make browser` installs it"
    command = ("node", str(_PAGES / file), str(_INSTALLED), chromium, address, name)
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(_PATIENCE):
            _, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, errors.decode()
