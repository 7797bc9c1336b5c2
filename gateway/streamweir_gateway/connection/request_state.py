"""The states of the request that a connection receives.

             begin           head_end          body_end
    idle ----------> head ----------> body ----------> whole
      ^               ^                                | |
      |               +------------ begin -------------+ |
      +--------------------- answered -------------------+

The state goes from whole to head if a request arrives while the previous one is being answered. The event
stop leads from every state to stopped, which is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

__all__ = ["TRANSITIONS", "RequestEvent", "RequestState"]


RequestState: TypeAlias = Literal["idle", "head", "body", "whole", "stopped"]
"""The state of a request: the meaning of the next byte.

    idle      it is the first byte of a request
    head      it belongs to the request line or a header
    body      it belongs to the body, a chunk header or a trailer
    whole     it follows a whole request that is not answered yet
    stopped   it is not parsed
"""

RequestEvent: TypeAlias = Literal["begin", "head_end", "body_end", "answered", "stop"]
"""The events that change the state.

    begin      bytes have arrived after the previous request; they may be an empty line only
    answered   all complete requests have been answered
"""

_STOP: Final[Mapping[RequestEvent, RequestState]] = {"stop": "stopped"}

TRANSITIONS: Final[Mapping[RequestState, Mapping[RequestEvent, RequestState]]] = {
    "idle": {"begin": "head", **_STOP},
    "head": {
        "head_end": "body",
        "answered": "head",
        **_STOP,
    },
    "body": {"body_end": "whole", **_STOP},
    "whole": {
        "begin": "head",
        "answered": "idle",
        **_STOP,
    },
    "stopped": {
        "begin": "stopped",
        "head_end": "stopped",
        "body_end": "stopped",
        "answered": "stopped",
        **_STOP,
    },
}
"""The transitions. All other pairs of state and event are impossible, for any bytes from the client."""
