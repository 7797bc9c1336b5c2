"""The commands wait for their input, and a signal ends the wait whenever it arrives."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from streamweir_gateway.cli.input_output import STDIN, pieces

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no timers that send signals")

SIGNALS_AT_MANY_MOMENTS = """
import os, signal
from streamweir_gateway.cli.input_output import pieces

class Told(Exception): pass

def tell(*_): raise Told

reading, writing = os.pipe()
source = open(reading, "rb", buffering=0)
signal.signal(signal.SIGALRM, tell)
for number in range(200):
    try:
        signal.setitimer(signal.ITIMER_REAL, (10 + number / 4) * 1e-6)
        next(pieces(source, "-"))
    except Told:
        pass
"""
"""The signals arrive 10 to 60 us after they were asked for. `pieces` begins to wait between the two."""


@contextmanager
def empty_pipe() -> Iterator[tuple[io.FileIO, int]]:
    reading, writing = os.pipe()
    with io.FileIO(reading) as source:
        try:
            yield source, writing
        finally:
            os.close(writing)


@contextmanager
def alarms_call(handler: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signal_ends_the_wait_whenever_it_arrives() -> None:
    subprocess.run([sys.executable, "-c", SIGNALS_AT_MANY_MOMENTS], check=True, timeout=60)


def test_wait_continues_after_a_handled_signal() -> None:
    heard: list[bool] = []
    with empty_pipe() as (source, writing), alarms_call(lambda: heard.append(True)):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        threading.Timer(0.2, os.write, (writing, b"input")).start()
        assert next(pieces(source, STDIN)) == b"input"
    assert heard == [True]


def test_wait_ends_once_the_patience_is_over_in_spite_of_signals() -> None:
    heard: list[bool] = []
    with empty_pipe() as (source, _), alarms_call(lambda: heard.append(True)):
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert list(pieces(source, STDIN, patience=lambda: 0.1)) == []
    assert heard
