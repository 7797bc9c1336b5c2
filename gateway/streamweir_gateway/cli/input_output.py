"""Opens, reads and writes files and pipes for the commands. Bytes are never held back."""

from __future__ import annotations

import io
import math
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias, cast

from streamweir_gateway.cli.command import CommandFailed

__all__ = [
    "STDIN",
    "Output",
    "ReadFailed",
    "drop_output",
    "label_of",
    "open_input",
    "open_output",
    "pieces",
    "print_if_possible",
    "whole_input",
    "write",
]

Output: TypeAlias = io.FileIO | io.BufferedIOBase

STDIN: Final = "-"
_PIECE: Final = 64 << 10
_MOST_BYTES: Final = 256 << 20
"""The most bytes of an input that is read as a whole: one that never ends is refused."""
_LONGEST_WAIT: Final = 0.5
"""Seconds of one system call."""


class ReadFailed(CommandFailed):
    """Reading the input failed in the middle. The error of the system or of unpacking is the cause."""


def label_of(name: str) -> str:
    """Return the name of the file as messages show it."""
    return "standard input" if name == STDIN else name


@contextmanager
def open_input(name: str) -> Iterator[io.FileIO]:
    """Open a file, or standard input for `-`, without a buffer: a read returns the bytes that have arrived.

    Raises:
        CommandFailed: the file cannot be opened.
    """
    try:
        file = io.FileIO(0, closefd=False) if name == STDIN else io.FileIO(name)
    except OSError as error:
        raise CommandFailed(f"cannot read {label_of(name)}: {error.strerror}") from error
    if name == STDIN and file.isatty():
        print("streamweir: reading from the terminal; end with Ctrl-D", file=sys.stderr)
    with file:
        yield file


@contextmanager
def open_output(name: str | None) -> Iterator[Output]:
    """Open a file to write, or standard output for None.

    Raises:
        CommandFailed: the file cannot be opened.
    """
    if name is None:
        yield cast("io.BufferedIOBase", sys.stdout.buffer)
        return
    try:
        file = io.FileIO(name, "wb")
    except OSError as error:
        raise CommandFailed(f"cannot write {name}: {error.strerror}") from error
    with file:
        yield file


def pieces(
    source: io.FileIO, name: str, *, patience: Callable[[], float | None] = lambda: None
) -> Iterator[bytes]:
    """Yield bytes as they arrive, until the end or until no byte arrives for `patience()` seconds.

    Raises:
        ReadFailed: the system reports an error.
    """
    while _wait(source, patience()):
        try:
            piece = source.read(_PIECE)
        except OSError as error:
            raise ReadFailed(f"cannot read {label_of(name)}: {error.strerror}") from error
        if piece:
            yield piece
        elif piece is not None:  # None: somebody made the pipe non-blocking, and it is empty
            return


def whole_input(name: str) -> bytes:
    """Return all bytes of a file, or of standard input for `-`.

    Raises:
        CommandFailed: the input cannot be read, or is too large.
    """
    whole = bytearray()
    with open_input(name) as source:
        for piece in pieces(source, name):
            whole += piece
            if len(whole) > _MOST_BYTES:
                raise CommandFailed(f"{label_of(name)} is larger than {_MOST_BYTES >> 20} MiB")
    return bytes(whole)


def write(target: Output, data: bytes) -> None:
    """Write `data` at once.

    Raises:
        CommandFailed: a file cannot be written.
        OSError: standard output cannot be written, or its reader has closed it.
    """
    left = memoryview(data)
    try:
        while left:
            left = left[target.write(left) :]
        target.flush()
    except OSError as error:
        if target is sys.stdout.buffer:
            raise
        raise CommandFailed(f"cannot write: {error.strerror}") from error


def _wait(source: io.FileIO, seconds: float | None) -> bool:
    """Wait until bytes can be read; return False if `seconds` pass before.

    A signal that arrives just before a system call does not end the call. So no call lasts long, and the
    handler runs after the call.
    """
    if os.name == "nt":  # Windows can wait for sockets only
        return True
    end = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        left = max(0.0, end - time.monotonic())
        if select.select([source], [], [], min(left, _LONGEST_WAIT))[0]:
            return True
        if left <= _LONGEST_WAIT:
            return False


def print_if_possible(text: str) -> None:
    """Print a text of a command that serves. If printing fails, the command continues without output."""
    try:
        print(text, flush=True)
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):
            print(f"streamweir: the output cannot be written: {error.strerror}", file=sys.stderr)


def drop_output() -> None:
    """Discard standard output, so that text which Python flushes at the exit causes no message."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
