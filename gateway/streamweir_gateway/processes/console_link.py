"""Where a serving process reaches the console."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LinkPlace"]


class LinkPlace(NamedTuple):
    """Where a serving process reaches the console.

    Attributes:
        path: the path of the Unix socket.
        worker: the number of the process, from 1.
        workers: how many processes there are.
    """

    path: str
    worker: int
    workers: int
