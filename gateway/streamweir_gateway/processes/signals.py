"""Signals in the parent of workers, which waits for its workers meanwhile."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["PARENT_SIGNALS", "woken_by_signals"]

PARENT_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Stop, stop, take a changed configuration over."""


@contextmanager
def woken_by_signals(note: Callable[[int], object]) -> Iterator[socket.socket]:
    """Note signals, and make the socket readable at each: `wait` would else go on waiting.

    Afterwards those that stop are ignored: the process is about to end, and not by one of them.
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
