"""The steps on a connection. Bodies and responses are iterators of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["FOR_EVER", "Break", "Pause", "Raw", "Send", "Step", "Steps"]

FOR_EVER: Final = math.inf


class Send(NamedTuple):
    """Send bytes of the body, which are coded and chunked."""

    data: bytes


class Raw(NamedTuple):
    """Send bytes on the connection, unchanged."""

    data: bytes


class Pause(NamedTuple):
    """Send nothing for a while."""

    seconds: float
    """Seconds; `FOR_EVER` means until the client leaves."""


class Break(NamedTuple):
    """End the response.

    stop: the body ends properly. cut: the connection is closed within the body. close: the connection is
    closed. reset: the connection is reset.
    """

    how: Literal["stop", "cut", "close", "reset"]


Step: TypeAlias = Send | Raw | Pause | Break
Steps: TypeAlias = Iterator[Step]
