"""The code that a worker process executes, and the commands of its parent.

Commands come through a channel and not by signals. A signal often reaches all processes of a terminal or
service at once, so that a worker would take the parent's signal for a second one. When the channel ends, the
parent is gone.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.importing import importing
from streamweir_gateway.processes.command_channel import STOP, Command, CommandReceiver
from streamweir_gateway.processes.console_link import LinkPlace
from streamweir_gateway.processes.shared_processors import work_in_turns
from streamweir_gateway.processes.sockets import Listeners
from streamweir_gateway.processes.worker_board import SharedAbsence, WorkerBoard

if TYPE_CHECKING:
    from streamweir_gateway.processes.process import ServingProcess

__all__ = ["ReplacementReason", "run_worker"]

logger = logging.getLogger("streamweir.server")

ReplacementReason: TypeAlias = Literal["hung", "exited"]
"""The reason why the previous worker has ended."""

BEAT_SECONDS: Final = 1.0
"""The seconds between the signs of life that a worker gives its parent."""


def run_worker(
    listeners: Listeners,
    parent: socket.socket,
    board: WorkerBoard,
    absence: SharedAbsence,
    replaces: ReplacementReason | None,
    link: LinkPlace | None = None,
) -> None:
    """Serve on `listeners` until the parent sends STOP or is gone, then end the process.

    The configuration is the first command and not an argument, because the parent would have to wait until
    the new process reads its arguments.

    Args:
        listeners: the sockets to listen on.
        parent: the worker's end of the command channel.
        board: the board, which the parent reads.
        absence: the absence of the store, shared with the other workers.
        replaces: the reason why the previous worker has ended; None if there was no previous worker.
        link: the place at which the console is reached; None: there is no console.
    """
    with importing():  # the parent needs none of it
        from streamweir_gateway.processes.process import ServingProcess  # noqa: PLC0415

    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    receiver = CommandReceiver(parent)
    config = receiver.first()
    if config is None:
        sys.exit(0)
    work_in_turns(config.server.workers)
    process: ServingProcess

    def ready(_address: tuple[str, int]) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        _execute_commands(process, receiver)
        _beat(board)
        with suppress(OSError):
            receiver.report_ready()

    process = ServingProcess(config, is_worker=True, board=board, absence=absence, link=link, on_ready=ready)
    if replaces is not None:
        process.metrics.worker_replaced(replaces)
    sys.exit(process.run(listeners))


def _beat(board: WorkerBoard) -> None:
    board.beat()
    asyncio.get_running_loop().call_later(BEAT_SECONDS, _beat, board)


def _execute_commands(process: ServingProcess, receiver: CommandReceiver) -> None:
    """Execute commands when they arrive, beginning with those that have already arrived."""
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()

    def execute(command: Command) -> None:
        if command == STOP:
            process.server.stop()
        elif not isinstance(command, GatewayConfig):
            process.metrics.config_reloaded("refused")
        else:
            task = loop.create_task(process.take_over(command))
            running.add(task)
            task.add_done_callback(running.discard)

    def listen() -> None:
        try:
            commands = receiver.commands()
        except EOFError:
            loop.remove_reader(receiver)
            process.server.stop_listening()  # the next gateway could not listen on this address
            process.server.stop()
            return
        for command in commands:
            execute(command)

    loop.add_reader(receiver, listen)
    listen()
