"""The beginning of a stream is the same moment whenever it is asked for."""

import time

import pytest

from streamweir_gateway.console.clock_shift import clock_shift


def test_shift_stays_the_same_until_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({clock_shift() for _ in range(1000)}) == 1
    before, real = clock_shift(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert abs(clock_shift() - before - 3600) < 1
    assert len({clock_shift() for _ in range(1000)}) == 1
