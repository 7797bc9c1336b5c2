"""A serving process moves its heap to huge pages, and goes on serving."""

import re
import sys
from pathlib import Path

import pytest

from loopback import ask
from patience import until
from running_gateway import running_gateway
from scripted_upstream import WHOLE, upstream
from streamweir_gateway.processes.huge_pages import move_heap

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves memory to huge pages"),
]


def on_huge_pages(pid: int) -> int:
    """Return how many kB of the process are on huge pages."""
    found = re.search(r"AnonHugePages: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text())
    return int(found[1]) if found else 0


async def test_serving_process_moves_its_heap_and_serves(tmp_path: Path) -> None:
    if not move_heap():
        pytest.skip("this system moves no memory to huge pages")
    async with (
        upstream(WHOLE) as server,
        running_gateway(
            tmp_path, endpoints={"/chat": {"upstream": server.url, "speaks": "legacy"}}
        ) as running,
    ):
        await running.ready()
        assert (await ask(running.at)).assert_valid().end["status"] == "completed"
        await until(lambda: on_huge_pages(running.pid) > 0)
        assert (await ask(running.at)).assert_valid().end["status"] == "completed"
