"""The command in a process of its own that has done its imports already: forked from one that stays.

Starting Python and importing the gateway takes longer than what most commands do. Only `command_line.run`
uses it, so every other start in the tests is one from nothing.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PATIENCE = 90
"""Seconds after which a command is killed."""
MAX_REQUEST = 1 << 16


class WarmCommand:
    """A process that forks itself for each command. One command at a time.

    It ends with this process: nobody is left then to ask for a command.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(descriptor)], pass_fds=[descriptor]
            )

        atexit.register(self.close)

    def close(self) -> None:
        """Let the process end, and wait for it."""
        self._socket.close()
        self._process.wait(timeout=60)

    def start(self, arguments: Sequence[str], folder: Path, descriptors: Sequence[int]) -> None:
        """Start the command in `folder`; `descriptors` are its stdin, stdout and stderr."""
        request = json.dumps([arguments, str(folder), dict(os.environ)]).encode()
        assert len(request) < MAX_REQUEST
        socket.send_fds(self._socket, [request], descriptors)

    def exit_code(self) -> int:
        """Wait for the end of the command; a signal's number is negative, as in `subprocess`."""
        return int(self._socket.recv(16))


@cache
def warm_command() -> WarmCommand:
    """The one of this process."""
    return WarmCommand()


def _serve(requests: socket.socket) -> None:
    """Run each command in a fork of this process, until nobody is left to ask for one."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            requests.close()
            arguments, folder, environment = json.loads(request)
            _become(arguments, folder, environment, descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(
    arguments: list[str], folder: str, environment: dict[str, str], descriptors: Sequence[int]
) -> None:
    """Be the command from here on: `python -m streamweir_gateway ARGUMENTS` in `folder`."""
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1, errors="backslashreplace")
    signal.alarm(PATIENCE)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv[1:] = arguments
    runpy.run_module("streamweir_gateway", run_name="__main__", alter_sys=True)


def _import_all() -> None:
    """Import what commands may need, and let no collection of garbage touch it: its pages stay shared."""
    for name in ("streamweir_gateway.cli", "streamweir.dialects"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _import_all()
    with socket.socket(fileno=int(sys.argv[1])) as socket_of_tests:
        _serve(socket_of_tests)
