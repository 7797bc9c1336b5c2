"""The place at which a serving process reaches the console."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LinkPlace"]


class LinkPlace(NamedTuple):
    """The place at which a serving process reaches the console.

    Attributes:
        path: the path of the Unix socket.
        worker: the number of the process, from 1.
        workers: the number of serving processes.
    """

    path: str
    worker: int
    workers: int
