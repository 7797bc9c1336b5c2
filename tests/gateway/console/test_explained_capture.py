"""docs/capture.md explains a file line by line; the console writes that file."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from console_client import console_of
from places import DOCS
from scripted_upstream import Call, chunk, upstream

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Unix sockets"),
]

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
READ = b'data: {"type": "token", "content": "Tea"}\n\n'
OWN = re.compile(
    r"\b(?:req|sess)_[\w-]+|127\.0\.0\.1:\d+|sha256:[0-9a-f]+|streamweir[ /-][0-9a-f.]+|\b[0-9a-f]{16,32}\b"
    r'|(?<="timestamp":)\d+|(?<="duration_ms":)\d+'
)
"""Ids, ports, hashes, versions and times: each run has its own."""
VARIABLE = frozenset({"t", "began", "timestamp", "duration_ms", "bytes_out"})


async def break_off(call: Call) -> None:
    """Send one token, and close the connection within the body."""
    await call.send(SSE + chunk(READ))


def shape(value: Any) -> Any:
    """The value without everything that differs from run to run."""
    match value:
        case dict():
            return {name: 0 if name in VARIABLE else shape(item) for name, item in value.items()}
        case list():
            return [shape(item) for item in value]
        case str():
            return OWN.sub("-", value)
    return value


def explained() -> list[dict[str, Any]]:
    """The lines of the file on the page."""
    page = (DOCS / "capture.md").read_text().partition("## A file, line by line\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    return [json.loads(line) for block in blocks for line in block.splitlines()]


async def test_explained_capture_is_the_file_that_the_console_writes(tmp_path: Path) -> None:
    async with upstream(break_off) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy", "path": "/agent"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            answer = await console.call(
                "/chat",
                headers=(
                    ("Content-Type", "application/json"),
                    ("Authorization", "Bearer sk-0123456789abcdef"),
                ),
            )
            assert answer.status == 200
            row = await console.row(state="ended")
            found = await console.capture(row["id"])
    assert [shape(line) for line in found] == [shape(line) for line in explained()]
