"""The states of the request that a connection receives.

             BEGIN           HEAD_END          BODY_END
    IDLE ----------> HEAD ----------> BODY ----------> WHOLE
      ^               ^                                | |
      |               +------------ BEGIN -------------+ |
      +--------------------- ANSWERED -------------------+

The state goes from WHOLE to HEAD if a request arrives while the previous one is being answered. STOP leads
from every state to STOPPED, which is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, auto
from typing import Final

__all__ = ["TRANSITIONS", "RequestEvent", "RequestState"]


class RequestState(IntEnum):
    """The state of a request: the meaning of the next byte."""

    IDLE = auto()
    """The next byte is the first byte of a request."""
    HEAD = auto()
    """The next byte belongs to the request line or a header."""
    BODY = auto()
    """The next byte belongs to the body, a chunk header or a trailer."""
    WHOLE = auto()
    """The next byte follows a whole request that is not answered yet."""
    STOPPED = auto()
    """The next byte is not parsed."""


class RequestEvent(IntEnum):
    """The events that change the state."""

    BEGIN = auto()
    """Bytes have arrived after the previous request; they may be an empty line only."""
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
"""The transitions. All other pairs of state and event are impossible, for any bytes from the client."""
