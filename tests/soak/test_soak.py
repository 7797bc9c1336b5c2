"""The soak in short: `make soak` is the whole of it."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the gateway's process through /proc")
def test_nothing_is_kept_of_streams_that_clients_left() -> None:
    script = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [sys.executable, str(script), "--storms", "4"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
