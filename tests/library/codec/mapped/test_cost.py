"""What a dialect from YAML costs, beside `legacy`, which is written by hand.

Bytecodes are counted, so that the result does not depend on the machine; `bench/micro.py` measures the time.
"""

import importlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from places import ROOT


def bytecodes_of(step: Callable[[], object]) -> int:
    """Return the number of bytecodes that a step executes."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        step()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="each version of Python has bytecodes of its own")
@pytest.mark.parametrize("per_read", [1, 32])
def test_mapped_event_takes_at_most_twice_the_bytecodes_of_a_legacy_event(
    monkeypatch: pytest.MonkeyPatch, per_read: int
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "bench")])
    mapped = importlib.import_module("mapped")
    rows = dict(mapped.steps(300, per_read))
    for step in rows.values():
        step()  # what is made once, as compiled patterns
    counts = {name: bytecodes_of(step) for name, step in rows.items()}
    assert all(counts.values())
    assert {name: ratio for name, ratio in mapped.ratios(counts).items() if ratio > 2} == {}
