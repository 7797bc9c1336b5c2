"""Request ids: one per request, in every event, header and log line.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

import os
import re
from typing import Final

__all__ = ["RunRequestID", "new_request_id", "session_id_of", "valid_request_id"]

_VALID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RunRequestID(str):
    """The id of the request that started a run, for the response to a request that reads the run later.

    `RequestIDMiddleware` puts such an id into the response instead of the id of the reading request.
    """

    __slots__ = ()


def new_request_id() -> str:
    """Return a new request id: `req_` and 32 hexadecimal digits."""
    return f"req_{os.urandom(16).hex()}"


def session_id_of(request_id: str) -> str:
    """Return the id of a session for which the upstream gives no id."""
    return request_id.replace("req_", "sess_", 1)


def valid_request_id(value: str) -> bool:
    """Return whether a client's request id may be kept: `[A-Za-z0-9._:-]{1,128}`."""
    return _VALID.fullmatch(value) is not None
