"""The process of the console. It serves no stream, so a viewer slows no stream down.

                     rows, logs                          HTTP, SSE
    serving process ------------> console process <------------------ viewer
                     Unix socket      |
                                      '-- commands: from the process that started it

The process ends when the process that started it closes the channel of commands.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from typing import Final

from streamweir_gateway.config import Address, GatewayConfig
from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.protocol import HttpProtocol
from streamweir_gateway.connection.server_context import ServerContext
from streamweir_gateway.console.api import ConsoleApi
from streamweir_gateway.console.configuration_view import ConfigurationView
from streamweir_gateway.console.entrance import ConsoleEntrance
from streamweir_gateway.console.guard import ConsoleGuard, security_headers
from streamweir_gateway.console.plots import Plots
from streamweir_gateway.console.row_book import RowBook
from streamweir_gateway.console.viewers import Viewers
from streamweir_gateway.console.worker_links import WorkerLinks
from streamweir_gateway.observability.logs import LogSettings, configure_logging
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.processes.command_channel import Command, CommandReceiver, ConfigRefused

__all__ = ["run_console"]

logger = logging.getLogger("streamweir.server")

_MAX_CONNECTIONS: Final = 512
_BACKLOG: Final = 128


class _Unobserved(Observer):
    """The observer of the console's own requests: writes no log lines and no metrics."""

    def __init__(self) -> None:
        """Make an observer without log and metrics."""

    def ended(self, record: RequestRecord) -> None:
        """Ignore the record."""


class _Console:
    """The objects of the console."""

    def __init__(
        self, config: GatewayConfig, entrance: ConsoleEntrance, link_path: str, gateway: Address
    ) -> None:
        self.view = ConfigurationView(config, entrance.file, gateway.url)
        self.book = RowBook(self.view.console.keep.streams)
        self.plots = Plots(time.time())
        self.viewers = Viewers(self.book, self.plots)
        self.book.on_row = [
            self.viewers.note_row,
            lambda before, row: self.plots.note(before, row, time.time()),
        ]
        self.book.on_ended = lambda rows: self.plots.note_ended(rows, time.time())
        self.book.on_decoded = lambda row: self.viewers.note_row(None, row)
        self.links = WorkerLinks(link_path, self.book)
        self.api = ConsoleApi(
            self.view, self.book, self.plots, self.viewers, self.links, gateway=gateway, token=entrance.token
        )
        self.guard = ConsoleGuard(self.api, entrance.token, self.view.console.hosts)

    def take_over(self, config: GatewayConfig) -> None:
        """Show another configuration. Its `hosts`, `capture` and `keep` apply from now on."""
        self.view.take_over(config)
        console = self.view.console
        self.book.max_ended = console.keep.streams
        self.book.shrink()
        self.guard.hosts = frozenset(host.lower() for host in console.hosts)
        self.api.note_configuration()
        self.viewers.note_info()

    def refuse(self, refused: ConfigRefused) -> None:
        """Note that a changed configuration file was refused."""
        self.view.note_refused(refused.problems)
        self.viewers.note_info()


def run_console(commands: socket.socket, entrance: ConsoleEntrance, link_path: str, gateway: Address) -> None:
    """Serve the console until the channel of commands is closed.

    Args:
        commands: the console's end of the channel; the first command is the configuration.
        entrance: the address and the token of the console.
        link_path: the path of the Unix socket for the serving processes.
        gateway: the address of the gateway.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    receiver = CommandReceiver(commands)
    config = receiver.first()
    if config is not None:
        configure_logging(secrets_of(config), settings=LogSettings.of(config.server))
        asyncio.run(_serve(_Console(config, entrance, link_path, gateway), receiver, entrance.listener))


async def _serve(console: _Console, commands: CommandReceiver, listener: socket.socket) -> None:
    await console.links.listen()
    context = ServerContext(
        app=console.guard,
        limits=RequestLimits(32 << 10, 10.0),
        observer=_Unobserved(),
        connections=set(),
        tasks=set(),
        max_connections=_MAX_CONNECTIONS,
        refusal_headers=security_headers(),
    )
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: HttpProtocol(context), sock=listener, backlog=_BACKLOG)
    ticking = loop.create_task(_tick(console))
    over = asyncio.Event()
    loop.add_reader(commands, _obey, console, commands, over)
    await over.wait()
    loop.remove_reader(commands)
    ticking.cancel()


def _obey(console: _Console, commands: CommandReceiver, over: asyncio.Event) -> None:
    try:
        received: list[Command] = commands.commands()
    except EOFError:
        over.set()
        return
    for command in received:
        if isinstance(command, GatewayConfig):
            console.take_over(command)
        elif isinstance(command, ConfigRefused):
            console.refuse(command)


async def _tick(console: _Console) -> None:
    """Close each second of the plots when it ends."""
    while True:
        await asyncio.sleep(1.0 - time.time() % 1.0 + 0.01)
        console.plots.tick(time.time())
        console.viewers.note_second()
