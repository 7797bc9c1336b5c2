"""One of several processes that serve: what runs in it, and how its parent commands it.

The parent sends them through a pipe and not by signals, which reach a whole terminal or service at once and
would be taken for a second one. Once the pipe ends, there is no parent any more.
"""

from __future__ import annotations

import asyncio
import copyreg
import logging
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import add_dialect_at, places, process_dialects
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.processes.sockets import Listeners
from streamweir_gateway.processes.worker_board import WorkerBoard

if TYPE_CHECKING:
    from streamweir_gateway.processes.process import ServingProcess

__all__ = ["READY", "REFUSED", "STOP", "Command", "ReplacementReason", "run_worker"]

logger = logging.getLogger("streamweir.server")

READY: Final = "ready"
"""What a worker sends its parent once it takes requests."""

STOP: Final = "stop"
"""What its parent sends it; a second one is for a hurry."""

ReplacementReason: TypeAlias = Literal["hung", "exited"]
"""Why a worker is gone in whose place another one is started."""

BEAT_SECONDS: Final = 1.0
"""How often a worker shows its parent that its event loop turns."""

REFUSED: Final = "refused"
"""What its parent sends one of them where a configuration could not be read again, to be counted."""

Command: TypeAlias = GatewayConfig | Literal["stop", "refused"]
"""What a parent sends: a configuration to take over, that one was refused, or that it is time to stop."""


def read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return what a read-only mapping of the configuration becomes on its way to a worker."""
    return MappingProxyType(mapping)


def dialects_of_process(placed: Mapping[str, str]) -> Dialects:
    """Return what the dialects of the parent's process are in a worker: its own, and those added by place."""
    for name, place in placed.items():
        add_dialect_at(place, name)
    return process_dialects()


copyreg.pickle(Dialects, lambda _: (dialects_of_process, (places(),)))
copyreg.pickle(MappingProxyType, lambda mapping: (read_only, (dict(mapping),)))


def run_worker(
    config: GatewayConfig,
    listeners: Listeners,
    parent: Connection,
    board: WorkerBoard,
    replaces: ReplacementReason | None,
) -> None:
    """Serve `config` on `listeners` until `parent` sends STOP, or is gone; end the process.

    Args:
        board: what the parent reads of this process.
        replaces: why the worker is gone in whose place this one runs; None: there was none.
    """
    from streamweir_gateway.processes.process import ServingProcess  # noqa: PLC0415 - the parent needs none of it

    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    process: ServingProcess

    def ready(_address: tuple[str, int]) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        _obey(process, parent)
        _beat(board)
        with suppress(OSError):
            parent.send(READY)

    process = ServingProcess(config, is_worker=True, board=board, on_ready=ready)
    if replaces is not None:
        process.metrics.worker_replaced(replaces)
    sys.exit(process.run(listeners))


def _beat(board: WorkerBoard) -> None:
    board.beat()
    asyncio.get_running_loop().call_later(BEAT_SECONDS, _beat, board)


def _obey(process: ServingProcess, parent: Connection) -> None:
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()

    def listen() -> None:
        try:
            command: Command = parent.recv()
        except (EOFError, OSError):
            loop.remove_reader(parent.fileno())
            process.server.stop_listening()  # whoever is started in the parent's place wants the address
            process.server.stop()
            return
        if command == STOP:
            process.server.stop()
        elif command == REFUSED:
            process.metrics.config_reloaded("refused")
        elif isinstance(command, GatewayConfig):
            task = loop.create_task(process.take_over(command))
            running.add(task)
            task.add_done_callback(running.discard)

    loop.add_reader(parent.fileno(), listen)
