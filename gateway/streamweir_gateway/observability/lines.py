"""Lines of the log on their way out: never waiting for whoever reads them, never failing.

A pipe that nobody empties would stop the event loop at the first write that blocks. So a line is written
where the system says that there is room, kept in a bounded buffer where it says that there is none, and
counted where that is full. Lines of up to 4096 bytes are written as one piece, so that those of several
processes on one pipe do not mix (POSIX, `PIPE_BUF`).
"""

from __future__ import annotations

import asyncio
import atexit
import os
import select
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import Final, Protocol, TextIO

__all__ = ["LineWriter", "Lines", "lines_to"]

PIPE_BUF: Final = 4096
"""What a pipe with room takes at once."""

BUFFER_BYTES: Final = 1 << 20
"""So much waits for a reader that has stopped reading."""

RETRY_SECONDS: Final = 0.05

GOODBYE_SECONDS: Final = 0.5
"""How long the last lines wait for a reader when the process ends."""

_LOST: Final = b'{"event":"log lines were lost: nobody read them","level":"warning","count":%d}\n'


class Lines(Protocol):
    """Takes the lines of a log."""

    def write(self, line: str) -> None:
        """Write one line, given without its end. Never raises."""


class LineWriter:
    """Writes lines to a file descriptor.

    Attributes:
        lost: how many lines found no room and have not been told of.

    Args:
        descriptor: a file, a terminal, a socket or a pipe.
    """

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        # Reentrant, for a finaliser that logs may run anywhere.
        self._lock = threading.RLock()
        self._is_writing = False
        self._retry: asyncio.TimerHandle | None = None

    def write(self, line: str) -> None:
        """Write one line, given without its end. Never raises, never waits."""
        data = line.encode("utf-8", "replace") + b"\n"
        with self._lock:
            if self._bytes + len(data) > BUFFER_BYTES:
                self.lost += 1
                return
            self._keep(data)
            self._flush(0)

    def close(self) -> None:
        """Write what is left, if it is taken soon."""
        with self._lock:
            self._flush(GOODBYE_SECONDS)

    def _keep(self, data: bytes) -> None:
        self._waiting.append(data)
        self._bytes += len(data)

    def _flush(self, patience: float) -> None:
        if self._is_writing:
            return  # the write under way takes it along
        self._is_writing = True
        try:
            while self._waiting and (ready := self._poll.poll(patience * 1000)):
                if not ready[0][1] & select.POLLOUT:
                    self._forget()  # closed: nobody will ever read it
                    return
                self._write_piece()
        except BlockingIOError:
            pass  # whoever shares the descriptor made it so, and others took the room
        except (OSError, ValueError):
            self._forget()
        finally:
            self._is_writing = False
        if self._waiting:
            self._try_later()

    def _write_piece(self) -> None:
        data = self._waiting[0]
        written = os.write(self._descriptor, data[:PIPE_BUF])
        self._bytes -= written
        if written < len(data):
            self._waiting[0] = data[written:]
            return
        self._waiting.popleft()
        if self.lost:
            self._keep(_LOST % self.lost)
            self.lost = 0

    def _forget(self) -> None:
        self._waiting.clear()
        self._bytes = 0

    def _try_later(self) -> None:
        """Look again soon, where an event loop runs; else with the next line."""
        if self._retry is None:
            with suppress(RuntimeError):
                self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._retry = None
        with self._lock:
            self._flush(0)


class _TextLines:
    """Writes lines to a stream that is no file of the system's, such as one in memory."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> None:
        """Write one line."""
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()


class _NoLines:
    """Takes the lines of a process without standard error."""

    def write(self, line: str) -> None:
        """Do nothing."""


_writers: dict[int, LineWriter] = {}


def lines_to(stream: TextIO | None = None) -> Lines:
    """Return what writes lines to `stream`, or to standard error; one writer per file descriptor."""
    target: TextIO | None = stream or sys.stderr  # which is None where it was closed before the start
    if target is None:
        return _NoLines()
    try:
        descriptor = target.fileno()
    except (OSError, ValueError, AttributeError):
        return _TextLines(target)
    if not hasattr(select, "poll"):
        return _TextLines(target)
    if descriptor not in _writers:
        _writers[descriptor] = LineWriter(descriptor)
        atexit.register(_writers[descriptor].close)
    return _writers[descriptor]
