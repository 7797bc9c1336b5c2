"""Hints for the operator about an upstream that failed: the field `hint` of the log line.

A hint contains no text of the answer, and neither the credentials nor the query of a redirect's target.

Source: the configuration contract ("When a stream is not understood").
"""

from __future__ import annotations

import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

from streamweir.errors import ErrorInfo
from streamweir.http.headers import HeaderList
from streamweir.options.durations import format_duration
from streamweir_gateway.observability.cookie_hint import cookie_hint, is_foreign_page, sends_cookies
from streamweir_gateway.runs.breaker import CircuitBreaker
from streamweir_gateway.upstream.failures import (
    ConnectTimedOut,
    InvalidResponse,
    NotConnected,
    Unreachable,
    UnreadableCoding,
    UpstreamFailure,
)
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.websocket.failures import ProtocolBreach, SocketClosed

__all__ = ["FULL", "about_breaker", "about_failure", "about_refusal", "about_stop"]

FULL: Final = "the upstream has max_streams streams already"
"""The hint about an upstream that was not asked, because it has as many streams as it may have."""

_ERRORS: Final = 400
_FORBIDDEN: Final = 403
_NOT_LOGGED_IN: Final = frozenset({401, 403})
_ADVICE: Final = {
    400: "it does not take this request",
    401: "it wants other credentials (headers.Authorization)",
    403: "it does not let these credentials in (headers.Authorization)",
    404: "it has nothing at this path",
    405: "it wants another method",
    406: "it does not write what Accept asks for",
    415: "it wants another Content-Type",
    422: "it does not take this request",
    429: "it is asked too often",
    508: "the request came back to a gateway that had sent it on",
}


def about_refusal(
    response: UpstreamResponse,
    headers: HeaderList,
    *,
    forwards_cookies: bool,
    allows_cookies: bool,
    is_handshake: bool = False,
) -> str:
    """Return the hint for an error status or a redirect.

    Args:
        response: the response of the upstream.
        headers: the headers of the client's request.
        forwards_cookies: whether the endpoint forwards the client's cookies.
        allows_cookies: whether `cors` has `credentials: true`.
        is_handshake: whether the request was the handshake of a WebSocket.
    """
    hint = _about_status(response)
    if is_handshake and response.status == _FORBIDDEN:
        hint += "; frameworks answer so too for a path that they do not know"
    if forwards_cookies or not _may_need_cookies(response, headers):
        return hint
    return f"{hint}; {cookie_hint(headers, allows_cookies=allows_cookies)}"


def _about_status(response: UpstreamResponse) -> str:
    status = response.status
    if status == 200:
        kind = b"".join(response.values_of("content-type")[:1]).decode("latin-1").partition(";")[0]
        return f"the upstream answered with {kind[:60]}, which is no stream"
    if 300 <= status <= 399:
        return f"the upstream answered {status}{_target(response)}: redirects are not followed"
    advice = f": {_ADVICE[status]}" if status in _ADVICE else ""
    return f"the upstream answered {status}{advice}"


def _may_need_cookies(response: UpstreamResponse, headers: HeaderList) -> bool:
    """Return whether the upstream may have refused the request because it missed the client's cookies."""
    if response.status in _NOT_LOGGED_IN:
        return sends_cookies(headers) or bool(response.values_of("set-cookie"))
    return response.status >= _ERRORS and sends_cookies(headers) and is_foreign_page(headers)


def _target(response: UpstreamResponse) -> str:
    values = response.values_of("location")
    if not values:
        return ""
    try:
        url = urlsplit(values[0].decode("ascii"))
    except ValueError:
        return ""
    host = f"{url.scheme}://{url.netloc.rpartition('@')[2]}" if url.netloc else ""
    target = f"{host}{url.path}"[:200]
    return f" and names {target}" if target.isprintable() and target else ""


def about_failure(failure: UpstreamFailure) -> str | None:
    """Return the reason why there is no response; None if the error of the stream tells more."""
    match failure:
        case NotConnected():
            return _about_connection(failure)
        case ConnectTimedOut():
            return "no connection within timeouts.connect"
        case Unreachable():
            return "the upstream closed the connection before it answered"
        case SocketClosed(close_code=None):
            return "the WebSocket ended without a Close frame"
        case SocketClosed():
            return f"the upstream closed the WebSocket with {failure.close_code}"
        case ProtocolBreach():
            return f"the upstream broke RFC 6455: {failure}"
        case UnreadableCoding():
            return str(failure)
        case InvalidResponse():
            return "the upstream does not speak HTTP/1.1 here"
    return None


def _about_connection(failure: UpstreamFailure) -> str:
    match failure.__cause__:
        case ConnectionRefusedError():
            return "connection refused"
        case socket.gaierror():
            return "no such host"
        case ssl.SSLCertVerificationError():
            return "the upstream's certificate is not accepted (tls.ca)"
        case ssl.SSLError():
            return "the upstream does not speak TLS here"
        case OSError() as error if error.strerror:
            return error.strerror.lower()
    return "no connection"


def about_breaker(breaker: CircuitBreaker) -> str:
    """Return a hint that tells since when the breaker is open."""
    return (
        f"the breaker has been open for {format_duration(round(breaker.open_seconds))}"
        f", after {breaker.failures} failures in a row"
    )


def about_stop(info: ErrorInfo | None) -> str:
    """Return in a few words why an attempt was given up."""
    return "no event came" if info is None else info.reason.replace("_", " ")
