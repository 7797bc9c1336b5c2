"""The steps that are executed on a connection. Bodies and responses are iterators of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["FOR_EVER", "Break", "Pause", "Raw", "Send", "Step", "Steps"]

FOR_EVER: Final = math.inf


class Send(NamedTuple):
    """Sends bytes of the body, which are coded and chunked."""

    data: bytes


class Raw(NamedTuple):
    """Sends bytes on the connection unchanged."""

    data: bytes


class Pause(NamedTuple):
    """Sends no bytes for a while."""

    seconds: float
    """The seconds to wait; `FOR_EVER`: until the client leaves."""


class Break(NamedTuple):
    """Ends the response.

    stop: the body ends properly. cut: the connection is closed within the body. close: the connection is
    closed. reset: the connection is reset.
    """

    how: Literal["stop", "cut", "close", "reset"]


Step: TypeAlias = Send | Raw | Pause | Break
Steps: TypeAlias = Iterator[Step]
