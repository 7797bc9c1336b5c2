"""The mutations in short: `make mutate` is the whole of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evidence import ends_at_eof, evidence_of
from places import ROOT
from streams import recorded_streams


def test_mutated_streams_of_every_dialect_become_proper_ones() -> None:
    command = [sys.executable, str(Path(__file__).with_name("run.py")), "--count", "300"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests/support")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dialect", sorted({stream.dialect for stream in recorded_streams()}))
def test_page_of_every_dialect_names_its_evidence(dialect: str) -> None:
    """A recorded stream that completes, by its expected events, holds what the page names."""
    completed = [
        stream
        for stream in recorded_streams()
        if stream.dialect == dialect and b'"status":"completed"' in stream.expected.read_bytes()
    ]
    assert completed
    streams = [stream for stream in completed if stream.path.suffix != ".json" and not ends_at_eof(stream)]
    assert not [str(stream) for stream in streams if not evidence_of(dialect).marks.search(stream.body)]
