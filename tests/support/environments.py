"""Environments of their own for what must not be in ours: other people's servers, other versions."""

import json
import os
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from places import ROOT

CACHE = ROOT / ".cache"
INSTALLS_WITHIN = 1800
"""Seconds that an installation may take."""


def environment(name: str, *requirements: str, upgraded: bool = False) -> Path:
    """Return the Python of an environment below `.cache/` with `requirements`, which are installed once.

    Args:
        name: its folder there.
        requirements: arguments of `pip install`.
        upgraded: look for newer releases each time.

    Raises:
        SystemExit: they cannot be installed.
    """
    folder = CACHE / name
    python, installed = folder / "bin/python", folder / "installed.json"
    wanted = json.dumps([sys.version, *requirements])
    is_there = installed.exists() and installed.read_text() == wanted
    if is_there and not upgraded:
        return python
    if not is_there:
        print(f"installing into {folder.relative_to(ROOT)}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
    # most of what other people's servers bring is never imported: compiling it takes longer than the download
    options = ["-qq", "--disable-pip-version-check", "--upgrade", "--no-compile"]
    command = [str(python), "-m", "pip", "install", *options, *requirements]
    done = subprocess.run(command, cwd=ROOT, timeout=INSTALLS_WITHIN, check=False)
    if done.returncode:
        sys.exit(f"{name}: not installed")
    installed.write_text(wanted)
    return python


@contextmanager
def started(
    *command: str | Path, folder: Path, log: str, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` in `folder` with few variables beside these; its output goes into the file `log`.

    It ends with the block, and with it what it has started itself.
    """
    inherited = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**inherited, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
