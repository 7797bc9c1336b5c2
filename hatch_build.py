"""Builds the page of the console for wheels and sdists that hatchling makes, where it is not built yet.

| situation | result |
|---|---|
| the page is built | it is packed |
| an editable installation | nothing is built: `make console` does |
| npm and the sources are there | the page is built and packed |
| no npm, no sources, or a build that fails | a warning, and a package without the page |
| the same, with the variable `STREAMWEIR_CONSOLE=require` | an error |

An sdist carries the built page, so that a wheel made from it needs no Node.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES: Final = Path("gateway/console")
BUILT: Final = Path("gateway/streamweir_gateway/console/static/index.html")
STEPS: Final = (
    ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"),
    ("run", "--silent", "build"),
)
PATIENCE: Final = 300
"""Seconds for each step."""


class PageNotBuilt(Exception):
    """The page cannot be built; the message is the reason."""


class ConsolePageHook(BuildHookInterface):
    """Builds the page before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if it has to be built.

        Raises:
            PageNotBuilt: it cannot be built, and `STREAMWEIR_CONSOLE=require` asks for it.
        """
        del build_data
        root = Path(self.root)
        if version == "editable" or (root / BUILT).is_file():
            return
        try:
            build_page(root)
        except PageNotBuilt as reason:
            if os.environ.get("STREAMWEIR_CONSOLE") == "require":
                raise
            self.app.display_warning(f"The package has no page of the console: {reason}")


def build_page(root: Path) -> None:
    """Build the page with npm.

    Raises:
        PageNotBuilt: it is not there afterwards.
    """
    if not (root / SOURCES / "package.json").is_file():
        raise PageNotBuilt(f"{SOURCES} is missing")
    npm = shutil.which("npm")
    if npm is None:
        raise PageNotBuilt("npm is not installed (Node 20.19 or newer)")
    for step in STEPS:
        try:
            done = subprocess.run(
                [npm, *step],
                cwd=root / SOURCES,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PageNotBuilt(f"npm {step[0]}: {error}") from error
        if done.returncode:
            raise PageNotBuilt(f"npm {step[0]} failed: {done.stdout.strip()[-2000:]}")
    if not (root / BUILT).is_file():
        raise PageNotBuilt("npm run build has written no page")
