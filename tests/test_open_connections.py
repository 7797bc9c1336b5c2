"""A test that fails and leaves connections open fails; it does not keep its worker for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

FAILING = """
import asyncio

import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio", {"use_uvloop": True}

@pytest.mark.anyio
async def test_it():
    async with asyncio.timeout(10):
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        opened = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert not opened
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop")
def test_event_loop_with_open_connections_is_closed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING)
    options = ("-q", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "FAILED test_it.py::test_it - assert not" in done.stdout, done.stdout + done.stderr
