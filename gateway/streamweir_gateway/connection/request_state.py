"""How far the request has come that a connection is receiving.

             BEGIN           HEAD_END          BODY_END
    IDLE ----------> HEAD ----------> BODY ----------> WHOLE
      ^               ^                                | |
      |               +------------ BEGIN -------------+ |
      +--------------------- ANSWERED -------------------+

A request that comes while the one before it is being answered takes the way in the middle. From each of them
STOP leads to STOPPED, and nothing leads out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, auto
from typing import Final

__all__ = ["TRANSITIONS", "RequestEvent", "RequestState"]


class RequestState(IntEnum):
    """What the next byte is."""

    IDLE = auto()
    """The first of a request; nothing of it has come."""
    HEAD = auto()
    """Of the request line or of a header."""
    BODY = auto()
    """Of the body, or of what carries it: chunks, trailers."""
    WHOLE = auto()
    """The first behind a request that is not answered yet."""
    STOPPED = auto()
    """Nothing: it is not taken."""


class RequestEvent(IntEnum):
    """What changes the state."""

    BEGIN = auto()
    """Something has come that is not the request before: it may be no more than an empty line."""
    HEAD_END = auto()
    BODY_END = auto()
    ANSWERED = auto()
    """All that came has been answered."""
    STOP = auto()


_STOP: Final = {RequestEvent.STOP: RequestState.STOPPED}

TRANSITIONS: Final[Mapping[RequestState, Mapping[RequestEvent, RequestState]]] = {
    RequestState.IDLE: {RequestEvent.BEGIN: RequestState.HEAD, **_STOP},
    RequestState.HEAD: {
        RequestEvent.HEAD_END: RequestState.BODY,
        RequestEvent.ANSWERED: RequestState.HEAD,
        **_STOP,
    },
    RequestState.BODY: {RequestEvent.BODY_END: RequestState.WHOLE, **_STOP},
    RequestState.WHOLE: {
        RequestEvent.BEGIN: RequestState.HEAD,
        RequestEvent.ANSWERED: RequestState.IDLE,
        **_STOP,
    },
    RequestState.STOPPED: dict.fromkeys(RequestEvent, RequestState.STOPPED),
}
"""A pair that is not here cannot happen, whatever the client does."""
