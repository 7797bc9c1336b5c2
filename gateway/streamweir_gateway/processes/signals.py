"""Handles signals in the parent of workers, which spends most of its time waiting for the workers."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["PARENT_SIGNALS", "woken_by_signals"]

PARENT_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""SIGINT and SIGTERM stop; SIGHUP reloads the configuration."""


@contextmanager
def woken_by_signals(note: Callable[[int], object]) -> Iterator[socket.socket]:
    """Call `note` with each signal, and make the yielded socket readable to wake a waiting selector.

    After the block the signals that stop are ignored, so that the process ends with its own exit code.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        note(number)

    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        before = {number: signal.signal(number, handle) for number in PARENT_SIGNALS}
        waker = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(waker)
            for number, handler in before.items():
                signal.signal(number, handler if number == signal.SIGHUP else signal.SIG_IGN)
