"""The middleware's tests on the oldest and on the newest starlette that the package allows.

    make compat                  a minute for each, once their environments are installed into .cache/

Each runs in an environment of its own: the package as it stands here, that starlette, what the tests need.
Exit code 1 if a test fails, or if an environment does not hold the starlette that it is there for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from environments import environment
from places import ROOT

TESTS: Final = "tests/library/asgi"
LASTS: Final = 600
"""Seconds that the tests may take."""

FAILED: Final = 1
"""What pytest ends with where a test failed."""

NOT_NEEDED: Final = frozenset({"starlette", "mypy", "ruff", "coverage", "pytest-xdist"})
"""Of the gateway's dependencies and the tools: what asks for another starlette, and what runs no test."""


def requirements(project: dict[str, Any]) -> Iterator[str]:
    """What the tests need beside the package and its starlette; the gateway's modules serve in them."""
    for requirement in (
        *project["project"]["optional-dependencies"]["gateway"],
        *project["dependency-groups"]["dev"],
    ):
        if re.match(r"[\w.-]+", requirement)[0] not in NOT_NEEDED:  # type: ignore[index]
            yield requirement


def starlettes(project: dict[str, Any]) -> tuple[str, str]:
    """The oldest starlette that the package allows, and all that it allows, as requirements."""
    (allowed,) = (line for line in project["project"]["dependencies"] if line.startswith("starlette"))
    oldest = re.search(r">=([\d.]+)", allowed)
    assert oldest, f"{allowed} has no lower bound"
    return f"starlette=={oldest[1]}", allowed


def version_in(python: Path) -> str:
    """The starlette that an environment holds."""
    command = [str(python), "-c", "import starlette; print(starlette.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run_tests(python: Path) -> tuple[bool, str]:
    """Run the middleware's tests, and what fails once more alone; whether they passed, and the last line."""
    cache = f"cache_dir={python.parents[1] / 'pytest-cache'}"
    command = [str(python), "-m", "pytest", "-q", "--color=no", "-o", cache, TESTS]
    done = run(command)
    if done.returncode == FAILED:
        print(done.stdout, "these once more, alone: clocks are slow on a busy machine", sep="\n", flush=True)
        alone = run([*command, "--last-failed"])
        print(alone.stdout)
        return alone.returncode == 0, f"{last_line(done)}, alone {last_line(alone)}"
    if done.returncode:
        print(done.stdout)
    return done.returncode == 0, last_line(done)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """What pytest says at last."""
    return done.stdout.strip().rpartition("\n")[2]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `command` in the checkout and keep what it prints."""
    variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, timeout=LASTS, check=False
    )


def main() -> int:
    """Run the tests on both, print what came of them, return the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest, allowed = starlettes(project)
    needed = ["--editable", str(ROOT), *requirements(project)]
    pythons = [
        environment("compat/oldest", oldest, *needed),
        environment("compat/newest", allowed, *needed, upgraded=True),
    ]
    versions = [version_in(python) for python in pythons]
    if len({*versions}) == 1 or not versions[0].startswith(oldest.partition("==")[2]):
        sys.exit(f"the environments hold starlette {' and '.join(versions)}; wanted: {oldest} and the newest")
    results = [run_tests(python) for python in pythons]
    print(
        "; ".join(
            f"starlette {version}: {line}" for version, (_, line) in zip(versions, results, strict=True)
        )
    )
    return 0 if all(passed for passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
