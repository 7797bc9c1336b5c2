"""The parent of several worker processes: starts them, starts them again, passes a stop on, waits for them.

It serves nothing itself and imports little, so that it stays small and cannot break.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final

from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.exposition import shared_directory, worker_gone
from streamweir_gateway.observability.logs import configure_logging
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.processes.reload import Load, OnReady, loaded
from streamweir_gateway.processes.signals import PARENT_SIGNALS, woken_by_signals
from streamweir_gateway.processes.worker import STOP, Command, run_worker

__all__ = ["serve_with_workers"]

logger = logging.getLogger("streamweir.server")

SETTLED_SECONDS: Final = 30.0
"""A worker that has lived so long counts as one that works."""

MAX_EARLY_ENDS: Final = 5
"""So many workers in a row that did not live so long, and the parent gives up."""

FIRST_PAUSE: Final = 0.1
"""Seconds before a worker is started again; twice as long each time it ends early."""

KILL_MARGIN: Final = 10.0
"""Seconds that a stopping worker has beyond `server.drain` before it is killed."""

HURRIED_SECONDS: Final = 4.0
"""The same after a second signal, in all."""


def serve_with_workers(
    config: GatewayConfig,
    listeners: Sequence[socket.socket],
    *,
    on_ready: OnReady | None,
    load: Load | None,
) -> int:
    """Serve `config` in a process for each of `listeners` until a signal ends it; return an exit code."""
    configure_logging(secrets_of(config))
    logger.setLevel(logging.INFO)
    with shared_directory():
        return _Workers(config, listeners, on_ready, load).run()


@dataclass(eq=False)
class _Place:
    """Where one worker runs, again and again, on one socket."""

    listener: socket.socket
    process: BaseProcess | None = None
    pipe: Connection | None = None
    is_ready: bool = False
    started_at: float = 0.0
    starts_at: float = field(default=float("inf"))
    """When it is to be started."""


class _Workers:
    """The worker processes."""

    def __init__(
        self,
        config: GatewayConfig,
        listeners: Sequence[socket.socket],
        on_ready: OnReady | None,
        load: Load | None,
    ) -> None:
        self._config = config
        self._places = [_Place(listener) for listener in listeners]
        self._on_ready = on_ready
        self._load = load
        self._exit_code = 0
        self._signals: list[int] = []
        self._stops = 0
        self._kill_at = float("inf")
        self._early_ends = 0
        self._is_up = False

    def run(self) -> int:
        """Run until all have ended."""
        with woken_by_signals(self._signals.append) as wakes:
            self._start(self._places[0])  # a fault that all would share is logged once
            while self._is_anyone_left():
                self._wait(wakes)
                self._obey_signals()
                for place in self._places:
                    self._look_after(place)
                if time.monotonic() >= self._kill_at:
                    self._kill()
        return self._exit_code

    def _is_anyone_left(self) -> bool:
        return not self._stops or any(place.process is not None for place in self._places)

    def _wait(self, wakes: socket.socket) -> None:
        things: list[socket.socket | Connection | int] = [wakes]
        for place in self._places:
            if place.process is not None:
                things.append(place.process.sentinel)
            if place.pipe is not None and not place.is_ready:
                things.append(place.pipe)
        starts = [] if self._stops else [place.starts_at for place in self._places]
        until = min([self._kill_at, *starts])
        wait(things, None if until == float("inf") else max(0.0, until - time.monotonic()))
        with suppress(BlockingIOError):
            wakes.recv(64)

    # --- one worker -----------------------------------------------------------------------------------------

    def _look_after(self, place: _Place) -> None:
        if place.process is not None and not place.is_ready and place.pipe is not None and place.pipe.poll():
            self._note_ready(place)
        if place.process is not None and place.process.exitcode is not None:
            self._ended(place)
        if not self._stops and time.monotonic() >= place.starts_at:
            self._start(place)

    def _start(self, place: _Place) -> None:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")  # threads and loops do not survive a fork
        process = context.Process(
            target=run_worker, args=(self._config, place.listener, theirs), name="streamweir worker"
        )
        # A worker that is not ready yet is stopped through its pipe, not by dying of the signal.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, PARENT_SIGNALS)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()
        place.process, place.pipe, place.is_ready = process, ours, False
        place.started_at, place.starts_at = time.monotonic(), float("inf")

    def _note_ready(self, place: _Place) -> None:
        assert place.pipe is not None
        try:
            place.pipe.recv()
        except (EOFError, OSError):
            return  # it is ending
        place.is_ready = True
        waiting = [other for other in self._places if other.process is None and not self._is_up]
        for other in waiting:
            other.starts_at = 0.0
        if not self._is_up and not waiting and all(other.is_ready for other in self._places):
            self._is_up = True
            if self._on_ready is not None and not self._stops:
                self._on_ready(place.listener.getsockname()[:2])

    def _ended(self, place: _Place) -> None:
        process, pipe = place.process, place.pipe
        assert process is not None
        assert pipe is not None
        worker_gone(process.pid or 0)
        pipe.close()
        code = process.exitcode
        process.close()
        place.process = place.pipe = None
        if self._stops:
            return
        if not self._is_up:
            logger.error("a worker could not start", extra={"exit_code": code})
            self._give_up()
            return
        lived = time.monotonic() - place.started_at
        self._early_ends = 0 if lived >= SETTLED_SECONDS else self._early_ends + 1
        logger.warning("a worker ended", extra={"exit_code": code, "seconds": round(lived, 1)})
        if self._early_ends > MAX_EARLY_ENDS:
            logger.error("workers end as soon as they are started: giving up")
            self._give_up()
            return
        place.starts_at = time.monotonic() + FIRST_PAUSE * 2 ** max(0, self._early_ends - 1)

    # --- all of them ----------------------------------------------------------------------------------------

    def _obey_signals(self) -> None:
        while self._signals:
            if self._signals.pop(0) == signal.SIGHUP:
                self._reload()
            else:
                self._stop()

    def _stop(self) -> None:
        """Stop all; asked once more, in a hurry."""
        self._stops += 1
        seconds = HURRIED_SECONDS
        if self._stops == 1:
            seconds = self._config.server.drain + KILL_MARGIN
        self._kill_at = min(self._kill_at, time.monotonic() + seconds)
        self._send(STOP)
        for place in self._places:
            place.listener.close()  # clients would wait in the queue of a worker that has ended

    def _give_up(self) -> None:
        self._exit_code = 1
        self._stop()

    def _send(self, command: Command) -> None:
        for place in self._places:
            if place.pipe is not None:
                with suppress(OSError):  # it is ending
                    place.pipe.send(command)

    def _kill(self) -> None:
        self._kill_at = float("inf")
        for place in self._places:
            if place.process is not None:
                logger.error("a worker did not stop and is killed", extra={"pid": place.process.pid})
                place.process.kill()

    def _reload(self) -> None:
        if not self._stops and (config := loaded(self._load)) is not None:
            self._config = config  # each worker logs what needs a restart
            self._send(config)
