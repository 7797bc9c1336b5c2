"""Running the real command in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from warm_command import warm_command

COMMAND = [sys.executable, "-m", "streamweir_gateway"]


def run(*arguments: str, input: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:  # noqa: A002
    """Run the command to its end; where processes can be forked, without starting Python anew."""
    command = [*COMMAND, *arguments]
    if sys.platform != "linux":
        return subprocess.run(command, input=input, capture_output=True, cwd=cwd, timeout=90, check=False)
    (stdin, to_it), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
    warm = warm_command()
    warm.start(arguments, cwd or Path.cwd(), (stdin, stdout, stderr))
    for its_own in (stdin, stdout, stderr):
        os.close(its_own)
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_write, to_it, input)
        printed, complained = pool.map(_read, (out, err))
    return subprocess.CompletedProcess(command, warm.exit_code(), printed, complained)


def _write(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


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
        process.wait(timeout=90)
