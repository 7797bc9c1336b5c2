"""Takes the pictures of docs/console.md (`make pictures`): serves config.yaml and looks at it in Chromium.

python docs/pictures.py PLAYWRIGHT CHROMIUM     PLAYWRIGHT: the folder in which playwright-core is installed
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Final

DOCS: Final = Path(__file__).resolve().parent
ROOT: Final = DOCS.parent
REQUESTS: Final = (
    ("/legacy", "How many orders did Hangzhou have?"),
    ("/ragflow", "Which drink sells best?"),
    ("/easyflow", "cut"),
    ("/ag-ui", "fail"),
    ("/standard", "ask"),
    ("/openai-chat", "Which drink sells best?"),
    ("/data-formulator", "Compare this week with the last one"),
    ("/vercel-ui", "How many orders?"),
    ("/auto", "Hello"),
    ("/warned", "Hello"),
)
"""Endpoints and messages whose streams have ended when the pictures are taken."""
RUNNING: Final = (("/legacy", "stall"), ("/stream-envelope", "stall"))
"""Streams that are under way."""


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Serve config.yaml on free ports; yield the address of the gateway and that of the console."""
    process = subprocess.Popen(
        [sys.executable, "-m", "streamweir_gateway", "serve", "config.yaml", "--listen", "127.0.0.1:0"],
        cwd=ROOT,
        env={**os.environ, "CONSOLE_LISTEN": "127.0.0.1:0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        gateway = console = ""
        while not (gateway and console):
            line = process.stdout.readline()
            if not line:
                sys.exit("the gateway does not start")
            gateway = gateway or _found(r"listens on (http://\S+)", line)
            console = console or _found(r"console: (http://\S+)", line)
        yield gateway, console
    finally:
        process.terminate()
        process.wait(30)


def _found(pattern: str, line: str) -> str:
    match = re.search(pattern, line)
    return match[1] if match else ""


def ask(gateway: str, path: str, message: str) -> None:
    """Send a request, and read its answer to the end."""
    body = json.dumps({"message": message, "messages": [{"role": "user", "content": message}]}).encode()
    request = urllib.request.Request(gateway + path, data=body, headers={"Content-Type": "application/json"})
    with suppress(OSError), urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def main() -> None:
    """Take the pictures."""
    playwright, chromium = sys.argv[1:]
    with served() as (gateway, console), ThreadPoolExecutor(16) as pool:
        done = [pool.submit(ask, gateway, path, message) for path, message in REQUESTS]
        for each in done:
            each.result()
        for path, message in RUNNING:
            Thread(target=ask, args=(gateway, path, message), daemon=True).start()
        command = ["node", DOCS / "pictures.mjs", playwright, chromium, console, DOCS / "images"]
        subprocess.run(command, check=True, timeout=300)


if __name__ == "__main__":
    main()
