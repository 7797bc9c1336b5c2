"""What is done on a connection, one step after the other; a body and a response are iterators of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["FOR_EVER", "Break", "Pause", "Raw", "Send", "Step", "Steps"]

FOR_EVER: Final = math.inf


class Send(NamedTuple):
    """Bytes of the body, which are coded and chunked."""

    data: bytes


class Raw(NamedTuple):
    """Bytes of the connection, written as they are."""

    data: bytes


class Pause(NamedTuple):
    """Silence."""

    seconds: float
    """`FOR_EVER`: until the client leaves."""


class Break(NamedTuple):
    """Nothing follows.

    stop: the body ends, properly. cut: the connection is closed within the body. close: it is closed here.
    reset: it is reset.
    """

    how: Literal["stop", "cut", "close", "reset"]


Step: TypeAlias = Send | Raw | Pause | Break
Steps: TypeAlias = Iterator[Step]
