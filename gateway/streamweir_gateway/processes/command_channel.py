"""The channel through which the parent commands one worker. Neither end ever waits for the other.

The ends are a pair of connected, non-blocking sockets. A command is a length (4 bytes, big endian) and a
pickle. The worker answers with one byte when it accepts requests.
"""

from __future__ import annotations

import copyreg
import pickle
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import add_dialect_at, places, process_dialects
from streamweir_gateway.config import GatewayConfig

__all__ = [
    "REFUSED",
    "STOP",
    "Command",
    "CommandReceiver",
    "CommandSender",
    "ConfigRefused",
    "command_channel",
]

STOP: Final = "stop"
"""The command to stop. A second one makes the worker stop sooner."""

REFUSED: Final = "refused"
"""The command that tells a worker to count a reload whose configuration was refused."""


class ConfigRefused(NamedTuple):
    """A reload of the configuration failed. The console gets this, and shows the problems.

    Attributes:
        problems: the problems, one line each.
    """

    problems: tuple[str, ...]


Command: TypeAlias = GatewayConfig | ConfigRefused | Literal["stop", "refused"]
"""A configuration to serve, `REFUSED` or `STOP`. The console gets `ConfigRefused` in place of `REFUSED`."""

MAX_WAITING: Final = 8
"""The most commands that wait for a worker. If there are more, `REFUSED` and further `STOP` are dropped."""

_LENGTH: Final = struct.Struct("!I")
_READY: Final = b"R"
_READ_BYTES: Final = 64 << 10


def read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """Rebuild a read-only mapping of the configuration in a worker."""
    return MappingProxyType(mapping)


def dialects_of_process(placed: Mapping[str, str]) -> Dialects:
    """Rebuild the parent's dialects in a worker: its own dialects, and those added by their place."""
    for name, place in placed.items():
        add_dialect_at(place, name)
    return process_dialects()


copyreg.pickle(Dialects, lambda _: (dialects_of_process, (places(),)))
copyreg.pickle(MappingProxyType, lambda mapping: (read_only, (dict(mapping),)))


def command_channel() -> tuple[CommandSender, socket.socket]:
    """Return the parent's end of a new channel, and the socket for the worker's end."""
    ours, theirs = socket.socketpair()
    return CommandSender(ours), theirs


class CommandSender:
    """The parent's end of a channel.

    A command that the socket does not take at once waits here. If a configuration is waiting and no byte of
    it was sent, a later configuration replaces it, so that a worker that reads nothing costs a bounded amount
    of memory.

    Args:
        connection: the socket that is connected to the worker.
        clock: returns seconds of a monotonic clock.
    """

    def __init__(self, connection: socket.socket, clock: Callable[[], float] = time.monotonic) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._clock = clock
        self._begun = memoryview(b"")
        """The unsent rest of a command that has been sent in part."""
        self._waiting: deque[Command] = deque()
        self._stalled_at: float | None = None
        """The time at which the worker stopped reading; None while no command waits for the worker."""

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self._socket.fileno()

    @property
    def is_waiting(self) -> bool:
        """Whether a command waits that the worker has not read."""
        return self._stalled_at is not None

    @property
    def stalled_seconds(self) -> float:
        """The seconds for which the worker has read no byte of a waiting command."""
        return 0.0 if self._stalled_at is None else self._clock() - self._stalled_at

    def send(self, command: Command) -> None:
        """Send `command` now, or when the worker reads it."""
        if isinstance(command, GatewayConfig):
            self._drop(lambda each: isinstance(each, GatewayConfig))
        elif len(self._waiting) >= MAX_WAITING:
            if command == REFUSED:
                return
            self._drop(lambda each: each == REFUSED)
            if self._waiting.count(STOP) > 1:
                return
        self._waiting.append(command)
        self.flush()

    def flush(self) -> None:
        """Send as much as possible without waiting. If the worker is gone, the commands are dropped."""
        try:
            while self._begun or self._waiting:
                if not self._begun:
                    self._begun = memoryview(_framed(self._waiting.popleft()))
                self._begun = self._begun[self._socket.send(self._begun) :]
                self._stalled_at = None
        except BlockingIOError:
            self._stalled_at = self._clock() if self._stalled_at is None else self._stalled_at
        except OSError:
            self._begun, self._stalled_at = memoryview(b""), None
            self._waiting.clear()

    def is_worker_ready(self) -> bool:
        """Return whether the worker has reported, since the last call, that it accepts requests."""
        try:
            return self._socket.recv(1) == _READY
        except OSError:  # nothing has come, or the worker is ending
            return False

    def close(self) -> None:
        """Close this end. The worker then assumes that its parent has ended."""
        self._socket.close()

    def _drop(self, is_dropped: Callable[[Command], bool]) -> None:
        self._waiting = deque(each for each in self._waiting if not is_dropped(each))


class CommandReceiver:
    """The worker's end of a channel.

    Args:
        connection: the socket that is connected to the parent.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._buffer = bytearray()

    def fileno(self) -> int:
        """Return the file descriptor, for the event loop."""
        return self._socket.fileno()

    def first(self) -> GatewayConfig | None:
        """Wait for the first command, the configuration to serve; return None if the parent is gone."""
        self._socket.setblocking(True)
        try:
            while (command := self._whole()) is None:
                if not self._read():
                    return None
        except OSError:
            return None
        finally:
            self._socket.setblocking(False)
        assert isinstance(command, GatewayConfig)
        return command

    def commands(self) -> list[Command]:
        """Return the commands that have arrived completely.

        Raises:
            EOFError: no command has arrived, and the parent is gone.
        """
        is_open = True
        try:
            is_open = self._read()
        except BlockingIOError:
            pass
        except OSError:
            is_open = False
        found: list[Command] = []
        while (command := self._whole()) is not None:
            found.append(command)
        if not found and not is_open:
            raise EOFError
        return found

    def report_ready(self) -> None:
        """Tell the parent that this worker accepts requests."""
        self._socket.send(_READY)

    def _read(self) -> bool:
        """Read once from the socket; return False if the parent has closed its end."""
        data = self._socket.recv(_READ_BYTES)
        self._buffer += data
        return bool(data)

    def _whole(self) -> Command | None:
        """Remove the first command from the buffer and return it; None if it has not arrived completely."""
        if len(self._buffer) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < end:
            return None
        command: Command = pickle.loads(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return command


def _framed(command: Command) -> bytes:
    data = pickle.dumps(command)
    return _LENGTH.pack(len(data)) + data
