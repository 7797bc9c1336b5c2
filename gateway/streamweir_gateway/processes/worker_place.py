"""Starts one worker, sends it commands, and decides when the next worker replaces it."""

from __future__ import annotations

import multiprocessing
import signal
import time
from multiprocessing.process import BaseProcess
from typing import Final

from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.exposition import worker_gone
from streamweir_gateway.processes.command_channel import Command, CommandSender, command_channel
from streamweir_gateway.processes.console_link import LinkPlace
from streamweir_gateway.processes.signals import PARENT_SIGNALS
from streamweir_gateway.processes.sockets import Listeners
from streamweir_gateway.processes.worker import ReplacementReason, run_worker
from streamweir_gateway.processes.worker_board import OpenStreams, SharedAbsence, WorkerBoard

__all__ = ["LOOK_SECONDS", "START_SECONDS", "WorkerPlace"]

LOOK_SECONDS: Final = 1.0
"""The seconds between the parent's checks for signs of life."""

START_SECONDS: Final = 60.0
"""The seconds that a worker may take to become ready, in addition to `server.hang_time`."""


class WorkerPlace:
    """The place of one worker process: when the process has ended, the next one takes its place.

    state      entered by                                      attributes
    ────────   ─────────────────────────────────────────────   ──────────────────────────────────────────────
    empty      construction; `clear`, once the worker ended    no `process`; `starts_at` may be set
    starting   `start`                                         `process`, `commands` and `board` are set
    ready      `becomes_ready`                                 `is_ready`, until `clear`
    hung       the parent, from starting or ready              `hangs`, until the next `start`

    The process may end (`has_ended`) in every state except empty; then the parent calls `clear`.

    Attributes:
        listeners: the sockets on which the worker listens.
        process: the worker process; None between the end of a worker and the start of the next.
        commands: the channel to the worker; None without a worker.
        board: the memory that the worker shares with the parent.
        is_ready: whether the worker accepts requests.
        starts_at: the time at which the next worker has to be started, by `time.monotonic()`.
        replaces: the reason why the previous worker has ended; None if there was no previous worker.
        silent_seconds: the seconds for which the worker has given no sign of life.
        hangs: whether the worker has been killed because it hung.
    """

    def __init__(
        self,
        listeners: Listeners,
        number: int,
        streams: OpenStreams,
        absence: SharedAbsence,
        link: LinkPlace | None = None,
    ) -> None:
        self.listeners = listeners
        self._number = number
        self._streams = streams
        self._absence = absence
        self._link = link
        self.process: BaseProcess | None = None
        self.commands: CommandSender | None = None
        self.board: WorkerBoard | None = None
        self.is_ready = False
        self.starts_at = float("inf")
        self.replaces: ReplacementReason | None = None
        self.silent_seconds = 0.0
        self.hangs = False
        self._started_at = self._looked_at = 0.0
        self._beats = 0

    def start(self, config: GatewayConfig) -> None:
        """Start a worker, and send it its configuration."""
        context = multiprocessing.get_context("spawn")  # threads and loops do not survive a fork
        self.commands, theirs = command_channel()
        self.board = WorkerBoard(context, self._streams, self._number)
        self.process = context.Process(
            target=run_worker,
            args=(self.listeners, theirs, self.board, self._absence, self.replaces, self._link),
            name="streamweir worker",
        )
        # A worker that is not ready yet is stopped by a command; the signal would kill it.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, PARENT_SIGNALS)
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()
        self.commands.send(config)
        self.is_ready, self.hangs, self.silent_seconds, self._beats = False, False, 0.0, 0
        self._started_at = self._looked_at = time.monotonic()
        self.starts_at = float("inf")

    def send(self, command: Command) -> None:
        """Send a command to the worker, if there is a worker. Never waits."""
        if self.commands is not None:
            self.commands.send(command)

    def flush(self) -> None:
        """Send as many of the waiting commands as the worker takes without waiting."""
        if self.commands is not None:
            self.commands.flush()

    def becomes_ready(self) -> bool:
        """Return whether the worker has just reported that it accepts requests."""
        if self.is_ready or self.commands is None or not self.commands.is_worker_ready():
            return False
        self.is_ready = True
        return True

    @property
    def hung_seconds(self) -> float:
        """The seconds for which the worker has given no sign of life, or has read no command.

        The first `START_SECONDS` of a worker that is not ready yet do not count.
        """
        if self.commands is None:
            return 0.0
        if not self.is_ready:
            return max(0.0, self.silent_seconds - START_SECONDS)
        return max(self.silent_seconds, self.commands.stalled_seconds)

    def update_silence(self) -> None:
        """Update `silent_seconds`.

        Pauses of the parent do not count, because a machine that pauses all processes pauses the workers too.
        """
        now = time.monotonic()
        if self.board is not None:
            beats = self.board.beats
            self.silent_seconds += min(now - self._looked_at, 2 * LOOK_SECONDS)
            if beats != self._beats:
                self._beats, self.silent_seconds = beats, 0.0
        self._looked_at = now

    def kill(self) -> None:
        """End the worker at once."""
        if self.process is not None:
            self.process.kill()

    def has_ended(self) -> bool:
        """Return whether the worker process has ended."""
        return self.process is not None and self.process.exitcode is not None

    def clear(self) -> tuple[int | None, float]:
        """Forget a worker that has ended; return its exit code and its lifetime in seconds."""
        process, commands = self.process, self.commands
        assert process is not None
        assert commands is not None
        worker_gone(process.pid or 0)
        commands.close()
        code = process.exitcode
        process.close()
        self._streams[self._number] = 0  # those of a worker that was killed
        self.process = self.commands = self.board = None
        self.is_ready = False
        return code, time.monotonic() - self._started_at
