"""The states of the request that a connection receives.

             BEGIN           HEAD_END          BODY_END
    IDLE ----------> HEAD ----------> BODY ----------> WHOLE
      ^               ^                                | |
      |               +------------ BEGIN -------------+ |
      +--------------------- ANSWERED -------------------+

A request that comes while the previous one is being answered goes from WHOLE to HEAD. STOP leads from every
state to STOPPED, which is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, auto
from typing import Final

__all__ = ["TRANSITIONS", "RequestEvent", "RequestState"]


class RequestState(IntEnum):
    """The meaning of the next byte."""

    IDLE = auto()
    """It is the first byte of a request."""
    HEAD = auto()
    """It belongs to the request line or a header."""
    BODY = auto()
    """It belongs to the body, a chunk header or a trailer."""
    WHOLE = auto()
    """It is the first byte behind a request that is not answered yet."""
    STOPPED = auto()
    """It is not read."""


class RequestEvent(IntEnum):
    """The events that change the state."""

    BEGIN = auto()
    """Bytes behind the previous request have come, perhaps only an empty line."""
    HEAD_END = auto()
    BODY_END = auto()
    ANSWERED = auto()
    """All complete requests have been answered."""
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
"""The transitions. Other pairs of state and event are impossible, whatever the client sends."""
