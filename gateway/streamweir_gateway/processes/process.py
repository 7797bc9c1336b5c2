"""One serving process: the application, the server, and reloads of the configuration."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from streamweir_gateway.app import GatewayApp, build_app
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.event_lines import Absence, remark_on
from streamweir_gateway.observability.logs import LogSettings, configure_logging, request_log
from streamweir_gateway.observability.metrics import make_metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.processes.command_channel import ConfigRefused
from streamweir_gateway.processes.console_link import LinkPlace
from streamweir_gateway.processes.console_place import ConsolePlace
from streamweir_gateway.processes.generations import Generations
from streamweir_gateway.processes.huge_pages import MOVE_SECONDS, begin_to_move
from streamweir_gateway.processes.reload import Load, OnReady, differences_kept, loaded
from streamweir_gateway.processes.server import GatewayServer
from streamweir_gateway.processes.sockets import Listeners, connection_limit
from streamweir_gateway.processes.worker_board import WorkerBoard
from streamweir_gateway.requests.conversations import ConversationsOfWorker
from streamweir_gateway.resumption.run_store import open_runs, shared_store
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.request_body import RequestBodies
from streamweir_gateway.upstream.via import Via, mark_of_start

if TYPE_CHECKING:
    from streamweir_gateway.processes.console_side import ConsoleSide

__all__ = ["ServingProcess", "serve_alone"]

logger = logging.getLogger("streamweir.server")

START_FAILED: Final = 1

LOOK_SECONDS: Final = 1.0
"""The seconds between checks whether the console still runs."""


class ServingProcess:
    """Serves a configuration in one process.

    Attributes:
        server: runs the application.
        metrics: the metrics of this process.

    Args:
        board: shows the open streams to the parent process; None if there is no parent.
        absence: the absence of the store, shared with the other workers; None if there are no other workers.
        link: the place at which the console is reached; None: there is no console.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        is_worker: bool = False,
        board: WorkerBoard | None = None,
        absence: Absence | None = None,
        link: LinkPlace | None = None,
        on_ready: OnReady | None = None,
    ) -> None:
        log = LogSettings.of(config.server)
        configure_logging(secrets_of(config), settings=log)
        logger.setLevel(log.number)
        self._config = config
        self._streams = LiveStreams()
        if board is not None:
            self._streams.watch(board.follow)
        self._bodies = RequestBodies(config.server.body_bytes)
        self._via = Via(mark_of_start())
        self.metrics = make_metrics()
        self._runs = open_runs(config, self.metrics, absence)
        self._conversations = ConversationsOfWorker(shared_store(config, self._runs))
        self.metrics.config_served(config.fingerprint)
        self._console = None if link is None else _console_side(link, config, self._streams)
        self._app_in_force = self._app(config)
        self._generations = Generations(self._app_in_force, self._stopped)
        self._turn = asyncio.Lock()
        self.server = GatewayServer(
            self._generations,
            self._streams,
            observer=Observer(request_log(settings=log), self.metrics),
            settings=config.server,
            goodbye=config.goodbye,
            max_connections=connection_limit(),
            is_worker=is_worker,
            on_drained=None if board is None else board.note_drained,
            others_stream=None if board is None else board.has_streams_anywhere,
            on_ready=partial(self._ready, on_ready),
        )

    def run(self, listeners: Listeners) -> int:
        """Serve until `stop` is called; return an exit code."""
        _collect_less_garbage()
        with listeners:
            if listeners.stands_by:
                self.server.stand_by()
            if listeners.admin is not None:
                self.server.add_admin(self._generations.admin, listeners.admin)
            try:
                self.server.run(sockets=[listeners.clients])
            except SystemExit:  # uvicorn raises this if the application did not start, which it has logged
                return START_FAILED
            finally:
                self.metrics.flush()
        return 0 if self.server.started or self.server.should_exit else START_FAILED

    async def take_over(self, config: GatewayConfig) -> None:
        """Serve new requests with another configuration. If that fails, log it and keep the current one."""
        async with self._turn:
            log = LogSettings.of(config.server)
            configure_logging((*secrets_of(self._config), *secrets_of(config)), settings=log)
            logger.setLevel(log.number)
            app = self._app(config)
            try:
                await self._generations.take_over(app)
            except (OSError, ValueError) as failed:
                logger.error("configuration not taken over: %s", failed)  # noqa: TRY400 - its text is enough
                self.metrics.config_reloaded("refused")
                return
            for name in differences_kept(self._config, config):
                logger.warning("a change of %s needs a restart", name)
            self._config, self._app_in_force = config, app
            if self._console is not None:
                self._console.take_over(config)
            self.server.apply(config.server, goodbye=config.goodbye)
            self._bodies.max_bytes = config.server.body_bytes
            self.metrics.config_served(config.fingerprint)
            self.metrics.config_reloaded("taken_over")
            logger.info("configuration taken over", extra={"config": config.fingerprint})

    def _app(self, config: GatewayConfig) -> GatewayApp:
        return build_app(
            config,
            streams=self._streams,
            bodies=self._bodies,
            conversations=self._conversations,
            runs=self._runs,
            metrics=self.metrics,
            via=self._via,
            watcher=None if self._console is None else self._console.rows,
        )

    def _ready(self, on_ready: OnReady | None, address: tuple[str, int]) -> None:
        if self._console is not None:
            self._console.start(lambda: self._app_in_force.admissions)
        asyncio.get_running_loop().call_later(MOVE_SECONDS, begin_to_move)
        if on_ready is not None:
            on_ready(address)

    async def _stopped(self) -> None:
        await self._runs.aclose()
        if self._console is not None:
            await self._console.aclose()


def _console_side(link: LinkPlace, config: GatewayConfig, streams: LiveStreams) -> ConsoleSide:
    from streamweir_gateway.processes.console_side import ConsoleSide  # noqa: PLC0415 - few gateways have any

    return ConsoleSide(link, config, streams)


def serve_alone(
    config: GatewayConfig,
    listeners: Listeners,
    *,
    on_ready: OnReady | None,
    load: Load | None,
    console: ConsolePlace | None = None,
) -> int:
    """Serve `config` in this process until a signal ends it; return an exit code."""

    def ready(address: tuple[str, int]) -> None:
        _on_hangup(process, load, console)
        if console is not None:
            _look_after(console)
        if on_ready is not None:
            on_ready(address)

    if sys.platform != "win32":
        # The default action of SIGHUP would end a process that is not ready yet.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    link = None if console is None else LinkPlace(console.link_path, 1, 1)
    process = ServingProcess(config, link=link, on_ready=ready)
    remark_on(config)
    return process.run(listeners)


def _look_after(console: ConsolePlace) -> None:
    console.look_after()
    asyncio.get_running_loop().call_later(LOOK_SECONDS, _look_after, console)


def _on_hangup(process: ServingProcess, load: Load | None, console: ConsolePlace | None) -> None:
    """Reload the configuration on SIGHUP."""
    if sys.platform == "win32":
        return
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()

    def hang_up() -> None:
        task = loop.create_task(_reload(process, load, console))
        running.add(task)
        task.add_done_callback(running.discard)

    loop.add_signal_handler(signal.SIGHUP, hang_up)


async def _reload(process: ServingProcess, load: Load | None, console: ConsolePlace | None) -> None:
    config = await asyncio.to_thread(loaded, load)
    if console is not None:
        console.send(config)
    if isinstance(config, ConfigRefused):
        process.metrics.config_reloaded("refused")
    else:
        await process.take_over(config)


def _collect_less_garbage() -> None:
    """Exclude permanent objects from garbage collection, and collect less often.

    Streams make hardly any cycles. With Python's defaults, the search for cycles takes a tenth of the time of
    a short request. Loaded modules make no cycles either, so only young objects are collected before it.
    """
    gc.collect(1)
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
