"""Starts the console's process, sends it commands, and starts it again if it ends."""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import signal
import socket
import tempfile
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from streamweir_gateway.config import Address, GatewayConfig
from streamweir_gateway.console.entrance import ConsoleEntrance
from streamweir_gateway.processes.command_channel import Command, CommandSender, command_channel
from streamweir_gateway.processes.signals import PARENT_SIGNALS

__all__ = ["ConsolePlace"]

logger = logging.getLogger("streamweir.server")

RESTART_SECONDS: Final = 2.0
"""The seconds before a console that has ended is started again."""
LONGEST_FOLDER: Final = 80
"""The most characters of the folder.

Source: unix(7): on every system the path of a socket has less than 104 bytes.
"""
END_SECONDS: Final = 2.0
"""The seconds that the console may take to end."""


class ConsolePlace:
    """Keeps the console running: if its process ends, another one is started.

    The context manager starts the console, and stops it at the end of the block.

    Args:
        config: the configuration to show.
        entrance: the address and the token of the console.
        gateway: the address of the gateway.

    Attributes:
        link_path: the path of the Unix socket to which serving processes connect.
    """

    def __init__(self, config: GatewayConfig, entrance: ConsoleEntrance, gateway: Address) -> None:
        self._config = config
        self._entrance = entrance
        self._gateway = gateway
        self._folder = _folder_of_sockets()
        self.link_path = str(Path(self._folder, "console"))
        self._process: BaseProcess | None = None
        self._commands: CommandSender | None = None
        self._started_at = 0.0

    def __enter__(self) -> ConsolePlace:
        self._start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._entrance.listener.close()
        if self._commands is not None:
            self._commands.close()
        if self._process is not None:
            self._process.join(END_SECONDS)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join(END_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, command: Command) -> None:
        """Send a command to the console. Never waits."""
        if isinstance(command, GatewayConfig):
            self._config = command
        if self._commands is not None:
            self._commands.send(command)

    def look_after(self) -> None:
        """Send waiting commands, and start the console again if it has ended."""
        if self._commands is not None:
            self._commands.flush()
        if self._process is None or self._process.exitcode is None:
            return
        if time.monotonic() - self._started_at >= RESTART_SECONDS:
            logger.warning(
                "the console ended and is started again", extra={"exit_code": self._process.exitcode}
            )
            self._process.close()
            self._start()

    def _start(self) -> None:
        if self._commands is not None:
            self._commands.close()
        context = multiprocessing.get_context("spawn")
        self._commands, theirs = command_channel()
        self._process = context.Process(
            target=_run,
            args=(theirs, self._entrance, self.link_path, self._gateway),
            name="streamweir console",
            daemon=True,
        )
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, PARENT_SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        theirs.close()
        self._commands.send(self._config)
        self._started_at = time.monotonic()


def _run(commands: socket.socket, entrance: ConsoleEntrance, link_path: str, gateway: Address) -> None:
    """Run the console in its process. The starting process does not need the module imported here."""
    from streamweir_gateway.processes.console_process import run_console  # noqa: PLC0415

    run_console(commands, entrance, link_path, gateway)


def _folder_of_sockets() -> str:
    """Make a folder that only this user may enter. The path of a socket in it has to be short."""
    folder = tempfile.mkdtemp(prefix="streamweir-")
    if len(folder) <= LONGEST_FOLDER:
        return folder
    shutil.rmtree(folder)
    return tempfile.mkdtemp(prefix="streamweir-", dir="/tmp")
