"""The parent of several workers: starts and restarts them, passes signals on, and waits for their end.

The parent serves no requests and imports little, so that it stays small and unlikely to fail. It never waits
for a single worker: commands that a worker does not read are kept or dropped (`command_channel`), and a
worker that reads no commands for `server.hang_time` is considered to hang.
"""

from __future__ import annotations

import logging
import multiprocessing
import selectors
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.event_lines import drain_began, drain_ended, remark_on, worker_replaced
from streamweir_gateway.observability.exposition import shared_directory
from streamweir_gateway.observability.logs import LogSettings, configure_logging
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.processes.command_channel import REFUSED, STOP, Command
from streamweir_gateway.processes.console_link import LinkPlace
from streamweir_gateway.processes.console_place import ConsolePlace
from streamweir_gateway.processes.reload import Load, OnReady, loaded
from streamweir_gateway.processes.signals import woken_by_signals
from streamweir_gateway.processes.sockets import Listeners
from streamweir_gateway.processes.worker_board import OpenStreams, SharedAbsence
from streamweir_gateway.processes.worker_place import LOOK_SECONDS, WorkerPlace

__all__ = ["serve_with_workers"]

logger = logging.getLogger("streamweir.server")

SETTLED_SECONDS: Final = 30.0
"""The seconds after which a worker is considered to work."""

MAX_EARLY_ENDS: Final = 5
"""The number of workers in a row that end earlier, after which the parent gives up."""

FIRST_PAUSE: Final = 0.1
"""The seconds before a worker is started again. They double each time a worker ends early."""

KILL_MARGIN: Final = 10.0
"""The seconds before a stopping worker is killed, in addition to the time for its streams and clients."""

HURRIED_SECONDS: Final = 4.0
"""The seconds before a stopping worker is killed after a second signal."""


def serve_with_workers(
    config: GatewayConfig,
    listeners: Sequence[Listeners],
    *,
    on_ready: OnReady | None,
    load: Load | None,
    console: ConsolePlace | None = None,
) -> int:
    """Serve `config` with one worker for each of `listeners` until a signal; return an exit code."""
    log = LogSettings.of(config.server)
    configure_logging(secrets_of(config), settings=log)
    logger.setLevel(log.number)
    remark_on(config)
    with shared_directory():
        return _Workers(config, listeners, on_ready, load, console).run()


class _Workers:
    """The worker processes.

    state      flags             entered by
    ────────   ───────────────   ──────────────────────────────────────────────────────────────────────────
    starting   not `_is_up`      construction: the first worker starts alone, and the others once it is ready
    up         `_is_up`          each worker is ready; from then on a worker that ends is replaced
    stopping   `_stops` is 1     a signal, a worker that could not start, or workers that end too early
    hurried    `_stops` over 1   a second signal: the workers are killed sooner

    The states change downwards only. `run` returns when all workers have ended, stopping or hurried.
    """

    def __init__(
        self,
        config: GatewayConfig,
        listeners: Sequence[Listeners],
        on_ready: OnReady | None,
        load: Load | None,
        console: ConsolePlace | None,
    ) -> None:
        self._config = config
        self._console = console
        context, workers = multiprocessing.get_context("spawn"), len(listeners)
        absence, streams = SharedAbsence(context), OpenStreams(context, workers)
        self._places = [
            WorkerPlace(each, number, streams, absence, _link(console, number + 1, workers))
            for number, each in enumerate(listeners)
        ]
        self._on_ready = on_ready
        self._load = load
        self._exit_code = 0
        self._signals: list[int] = []
        self._stops = 0
        self._kill_at = float("inf")
        self._early_ends = 0
        self._is_up = False
        self._drains_since: float | None = None
        """The time at which the drain of all workers began; None before a drain."""
        self._ended_streams = 0

    def run(self) -> int:
        """Run until all workers have ended; return an exit code."""
        with woken_by_signals(self._signals.append) as wakes:
            # One worker starts first: a fault that all would share is logged once.
            self._places[0].start(self._config)
            while self._is_anyone_left():
                self._wait(wakes)
                self._obey_signals()
                for place in self._places:
                    self._look_after(place)
                if self._console is not None:
                    self._console.look_after()
                if time.monotonic() >= self._kill_at:
                    self._kill()
        if self._drains_since is not None:
            drain_ended(self._ended_streams, time.monotonic() - self._drains_since)
        return self._exit_code

    def _is_anyone_left(self) -> bool:
        return not self._stops or any(place.process is not None for place in self._places)

    def _wait(self, wakes: socket.socket) -> None:
        """Wait for a signal, or for a worker that ends, becomes ready or can read commands."""
        with _Selector() as selector:
            selector.register(wakes, selectors.EVENT_READ)
            for place in self._places:
                if place.process is not None:
                    selector.register(place.process.sentinel, selectors.EVENT_READ)
                if place.commands is not None and (events := _events_awaited(place)):
                    selector.register(place.commands, events)
            selector.select(self._seconds_to_wait())
        with suppress(BlockingIOError):
            wakes.recv(64)

    def _seconds_to_wait(self) -> float | None:
        starts = [] if self._stops else [place.starts_at for place in self._places]
        until = min([self._kill_at, *starts]) - time.monotonic()
        if self._hang_time is not None or self._console is not None:
            until = min(until, LOOK_SECONDS)
        return None if until == float("inf") else max(0.0, until)

    # --- one worker -----------------------------------------------------------------------------------------

    def _look_after(self, place: WorkerPlace) -> None:
        place.flush()
        if place.becomes_ready():
            self._note_ready(place)
        self._check_beat(place)
        if place.has_ended():
            self._ended(place)
        if not self._stops and time.monotonic() >= place.starts_at:
            if place.replaces is not None:
                worker_replaced(place.replaces)
            place.start(self._config)

    @property
    def _hang_time(self) -> float | None:
        return self._config.server.hang_time

    def _check_beat(self, place: WorkerPlace) -> None:
        """Kill a worker whose event loop does not turn, or that reads no commands."""
        place.update_silence()
        if self._hang_time is None or place.hangs or place.hung_seconds < self._hang_time:
            return
        assert place.board is not None
        assert place.process is not None
        logger.error(
            "a worker hangs and is replaced",
            extra={
                "pid": place.process.pid,
                "seconds": round(place.hung_seconds, 1),
                "streams": place.board.open_streams,
                "open": ", ".join(place.board.names()),
            },
        )
        place.hangs = True
        place.kill()

    def _note_ready(self, place: WorkerPlace) -> None:
        waiting = [other for other in self._places if other.process is None and not self._is_up]
        for other in waiting:
            other.starts_at = 0.0
        if not self._is_up and not waiting and all(other.is_ready for other in self._places):
            self._is_up = True
            if self._on_ready is not None and not self._stops:
                self._on_ready(place.listeners.clients.getsockname()[:2])

    def _ended(self, place: WorkerPlace) -> None:
        assert place.board is not None
        ended = place.board.ended_streams
        code, lived = place.clear()
        if self._stops:
            self._ended_streams += ended
            return
        if not self._is_up:
            logger.error("a worker could not start", extra={"exit_code": code})
            self._give_up()
            return
        place.replaces = "hung" if place.hangs else "exited"
        if not place.hangs:
            logger.warning("a worker ended", extra={"exit_code": code, "seconds": round(lived, 1)})
        self._early_ends = 0 if lived >= SETTLED_SECONDS else self._early_ends + 1
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
                self._note_drain()
                self._stop()

    def _note_drain(self) -> None:
        """Write the line about the beginning of the drain once. The workers do not write this line."""
        if not self._stops:
            self._drains_since = time.monotonic()
            boards = (place.board for place in self._places)
            drain_began(sum(board.open_streams for board in boards if board is not None))

    def _stop(self) -> None:
        """Stop all workers; a second call makes them stop sooner."""
        self._stops += 1
        seconds = HURRIED_SECONDS
        if self._stops == 1:
            seconds = self._config.server.drain + self._config.goodbye + KILL_MARGIN
        self._kill_at = min(self._kill_at, time.monotonic() + seconds)
        self._send(STOP)
        for place in self._places:
            place.listeners.close()  # otherwise clients would wait in the queue of an ended worker

    def _give_up(self) -> None:
        self._exit_code = 1
        self._stop()

    def _send(self, command: Command) -> None:
        for place in self._places:
            place.send(command)

    def _kill(self) -> None:
        self._kill_at = float("inf")
        for place in self._places:
            if place.process is not None:
                logger.error("a worker did not stop and is killed", extra={"pid": place.process.pid})
                place.kill()

    def _reload(self) -> None:
        if self._stops:
            return
        config = loaded(self._load)
        if self._console is not None:
            self._console.send(config)
        if isinstance(config, GatewayConfig):
            self._config = config  # each worker logs what needs a restart
            self._send(config)
        elif (place := next((place for place in self._places if place.is_ready), None)) is not None:
            place.send(REFUSED)


_Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)


def _events_awaited(place: WorkerPlace) -> int:
    """Return the selector events to wait for on a worker's channel; 0 for no events."""
    assert place.commands is not None
    is_written = place.commands.is_waiting
    return (0 if place.is_ready else selectors.EVENT_READ) | (selectors.EVENT_WRITE if is_written else 0)


def _link(console: ConsolePlace | None, worker: int, workers: int) -> LinkPlace | None:
    return None if console is None else LinkPlace(console.link_path, worker, workers)
