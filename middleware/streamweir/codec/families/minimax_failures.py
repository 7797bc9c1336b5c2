"""Reads the `base_resp` of MiniMax: the outcome of a request, in an answer with the HTTP status 200.

Source: MiniMax's table of error codes (platform.minimax.io, `api-reference/errorcode`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import upstream_error
from streamweir.events import Error

__all__ = ["BASE_RESP", "error_in_base_resp"]

BASE_RESP: Final = "base_resp"

_NAMES: Final = {
    code: name
    for name, codes in {
        "timeout": (1001,),
        "rate_limit_exceeded": (1002, 1039, 1041, 2045),
        "invalid_api_key": (1004, 2049),
        "insufficient_balance": (1008, 2056),
        "content_filter": (1026, 1027),
        "invalid_param": (2013,),
    }.items()
    for code in codes
}
"""The name that other servers have for a code."""


def error_in_base_resp(message: Mapping[str, Any]) -> Error | None:
    """Return the failure that the `base_resp` of a message reports; None if there is none, or it is 0."""
    match message.get(BASE_RESP):
        case {"status_code": int(code), **rest} if code:
            return upstream_error(rest.get("status_msg"), code=_NAMES.get(code))
    return None
