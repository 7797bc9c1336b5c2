"""The options of a request that the asynchronous and the blocking client have in common.

Source: the library contract, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from streamweir.options.durations import Duration
from streamweir.options.timeouts import Timeouts

__all__ = ["PARAMETERS", "REQUEST_DEFAULTS", "RequestOptions"]


class RequestOptions(TypedDict, total=False):
    """The options of both functions named `stream_request`.

    Attributes:
        method: the HTTP method.
        json: the body, to be written as JSON.
        headers: headers to send; they override those that are sent by default.
        params: the query parameters of the URL.
        speaks: the dialect of the answer; `auto` detects it.
        timeouts: `connect`, `first_event`, `idle`, `total`: seconds, or text such as `"5s"`; None or `"off"`
            turns a clock off. A clock that is not listed keeps its default (5s, 60s, 120s, off). `resume` is
            how long the client tries to resume without an event (5m).
        request_id: sent as `X-Request-Id`; a new one if None.
        raise_errors: raise a `StreamRequestError` if the stream fails; otherwise each failure arrives as an
            `error` and a `session_end`.
        resume: resume a stream whose connection breaks. None: if the answer names its run. True: also with a
            handle that the client makes, and after 45s of silence. False: never.
    """

    method: str
    json: Any
    headers: Mapping[str, str] | None
    params: Mapping[str, Any] | None
    speaks: str
    timeouts: Timeouts | Mapping[str, Duration | None] | str | None
    request_id: str | None
    raise_errors: bool
    resume: bool | None


REQUEST_DEFAULTS: Final[RequestOptions] = {
    "method": "POST",
    "json": None,
    "headers": None,
    "params": None,
    "speaks": "standard",
    "timeouts": None,
    "request_id": None,
    "raise_errors": True,
    "resume": None,
}
"""The default of each option."""

PARAMETERS: Final = (
    *("method", "json", "content", "headers", "params", "speaks", "timeouts", "request_id", "client"),
    *("raise_errors", "resume"),
)
"""The keyword-only parameters of both functions, in the order in which `help` lists them."""
