"""Running the real command in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "streamweir_gateway"]


def run(*arguments: str, input: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:  # noqa: A002
    return subprocess.run(
        [*COMMAND, *arguments], input=input, capture_output=True, cwd=cwd, timeout=60, check=False
    )


@contextmanager
def started(*arguments: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A running command with pipes at all three ends; killed when it is not needed any more."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
    )
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:
                pass
        process.wait(timeout=20)


def events_of(ndjson: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ndjson.split(b"\n") if line]
