"""What a dialect from YAML costs, beside `legacy`, which is written by hand."""

import importlib
import sys
import time

import pytest

from places import ROOT

PASSES = 9


@pytest.mark.parametrize("per_read", [1, 32])
def test_mapped_event_costs_at_most_twice_a_legacy_event(
    per_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "bench")])
    mapped = importlib.import_module("mapped")
    figures: dict[str, float] = {}
    rows = dict(mapped.steps(300, per_read))
    for _ in range(PASSES):
        for name, step in rows.items():
            began = time.process_time()
            step()
            figures[name] = min(figures.get(name, 1e9), time.process_time() - began)
    assert {name: ratio for name, ratio in mapped.ratios(figures).items() if ratio > 2} == {}
