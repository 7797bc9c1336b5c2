"""`make soak` and `make storm` in short."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at the gateway's process through /proc"),
]


@pytest.mark.parametrize(
    "command",
    [
        "run.py --storms 4",
        "faults.py nested open-tools long-line --dialects 3",
        "storm.py --rounds 1",
        "hung_workers.py --rounds 1",
    ],
)
def test_soak_command_keeps_nothing_and_takes_little_memory(command: str) -> None:
    script, *arguments = command.split()
    place = str(Path(__file__).with_name(script))
    done = subprocess.run([sys.executable, place, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
