"""What a dialect from YAML costs, beside `legacy`, which is written by hand.

Bytecodes are counted, so that the result does not depend on the machine; `bench/micro.py` measures the time.
"""

import importlib
import sys

import pytest

from bytecodes import bytecodes_of
from places import ROOT


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
