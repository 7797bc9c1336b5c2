"""Writes the lines of the log without waiting for their reader, and without failing.

A pipe that is not read would stop the event loop at the first write that blocks. So a thread writes: lines
wait for the thread in a queue, and are only counted when the queue is full. Lines of up to 4096 bytes are
written to a pipe in one piece, so that lines of several processes do not mix (POSIX, `PIPE_BUF`).
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from logging import Handler, LogRecord
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from typing import Final, Protocol, TextIO

__all__ = ["LineQueue", "Lines", "lines_to"]

PIPE_BUF: Final = 4096
"""The bytes that a pipe takes in one piece."""

MAX_WAITING: Final = 2000
"""The most lines that wait for a reader that has stopped reading. They take about a megabyte."""

FILE_BYTES: Final = 64 << 10
"""The most bytes that are written at once to a file that is not a pipe."""

GATHER_SECONDS: Final = 0.03
"""The seconds for which a line waits for more. A thread woken for each would slow a busy event loop."""

RETRY_SECONDS: Final = 0.05

GOODBYE_SECONDS: Final = 0.5
"""The seconds for which the last lines wait for a reader when the process ends."""

_LOST: Final = '{"event":"log lines were lost: nobody read them","level":"warning","count":%d}'


class Lines(Protocol):
    """Takes the lines of a log."""

    def write(self, line: str) -> None:
        """Write one line, which is given without a line end. Never raises."""


class _Wake(LogRecord):
    """Wakes the thread. A plain `LogRecord` would look up more, which costs time.

    Attributes:
        written: set when the waiting lines have been written; None if no thread waits for that.
    """

    def __init__(self, written: threading.Event | None = None) -> None:
        self.written = written


_WAKE: Final = _Wake()


class LineQueue(QueueHandler):
    """Passes lines to a thread that writes them to a file descriptor. `logging` flushes it at exit.

    Only the first of the waiting lines wakes the thread. Its queue is a `SimpleQueue`, because a finaliser
    that logs may run anywhere, even within `put` for another line.

    Args:
        descriptor: a file, a terminal, a socket or a pipe.

    Attributes:
        waiting: the lines that the thread has not taken yet.
    """

    queue: SimpleQueue[LogRecord]

    def __init__(self, descriptor: int) -> None:
        super().__init__(SimpleQueue())
        self.waiting: Final = deque[str]()
        self._is_woken = False
        self._refused = 0
        self._reported = 0
        QueueListener(self.queue, _Output(descriptor, self)).start()

    @property
    def lost(self) -> int:
        """The number of lines that were dropped because the queue was full, and were not reported yet."""
        return self._refused - self._reported

    def write(self, line: str) -> None:
        """Write one line, which is given without a line end. Never raises, never waits."""
        if len(self.waiting) >= MAX_WAITING:
            self._refused += 1
            return
        self.waiting.append(line)
        if not self._is_woken:
            self._is_woken = True
            self.queue.put(_WAKE)

    def take(self) -> list[str]:
        """Return the waiting lines, then a line about dropped lines, if there are any."""
        self._is_woken = False  # a line that comes from here on wakes the thread again
        lines = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if lost := self.lost:
            self._reported += lost
            lines.append(_LOST % lost)
        return lines

    def flush(self) -> None:
        """Wait until the waiting lines have been written, for a limited time."""
        written = threading.Event()
        self.queue.put(_Wake(written))
        written.wait(GOODBYE_SECONDS)


class _Output(Handler):
    """Writes to a file descriptor, in the thread of the queue."""

    def __init__(self, descriptor: int, lines: LineQueue) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines = lines
        self._most = PIPE_BUF if _is_pipe(descriptor) else FILE_BYTES

    def createLock(self) -> None:  # noqa: N802 - the standard library's name
        """Create no lock: only one thread writes, and a lock during a blocked write would delay the exit."""
        self.lock = None

    def handle(self, record: LogRecord) -> bool:
        """Write without a lock. From Python 3.13 on, the method of the base class takes one in any case."""
        self.emit(record)
        return True

    def emit(self, record: LogRecord) -> None:
        """Write the waiting lines and those that follow soon. Lines for a closed pipe are dropped."""
        written = record.written if isinstance(record, _Wake) else None
        if written is None:
            time.sleep(GATHER_SECONDS)
        with suppress(OSError, ValueError):
            for piece in _pieces(self._lines.take(), self._most):
                self._write(piece)
        if written is not None:
            written.set()

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data[: self._most]) :]
            except BlockingIOError:  # whoever shares the descriptor made it so
                time.sleep(RETRY_SECONDS)


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # it is closed
        return True


def _pieces(lines: Iterable[str], most: int) -> Iterator[bytes]:
    """Yield whole lines, joined to pieces of at most `most` bytes."""
    piece, size = list[bytes](), 0
    for line in lines:
        data = line.encode("utf-8", "replace")
        if piece and size + len(data) >= most:
            yield b"\n".join([*piece, b""])
            piece, size = [], 0
        piece.append(data)
        size += len(data) + 1
    if piece:
        yield b"\n".join([*piece, b""])


class _TextLines:
    """Writes lines to a stream that is not a file of the system, such as a stream in memory."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        """Write one line."""
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()


class _NoLines:
    """Drops the lines of a process without standard error."""

    def write(self, line: str) -> None:
        """Do nothing."""


_queues: dict[int, LineQueue] = {}


def lines_to(stream: TextIO | None = None) -> Lines:
    """Return the writer of lines to `stream`, or to standard error. Each file descriptor has one queue."""
    target: TextIO | None = stream or sys.stderr  # which is None where it was closed before the start
    if target is None:
        return _NoLines()
    try:
        descriptor = target.fileno()
    except (OSError, ValueError, AttributeError):
        return _TextLines(target)
    if descriptor not in _queues:
        _queues[descriptor] = LineQueue(descriptor)
    return _queues[descriptor]
