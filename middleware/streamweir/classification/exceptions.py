"""Classifies exceptions by type, status and cause; by words only if the exception concerns a service."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.classification.failures import most_exact
from streamweir.classification.statuses import RETRY_LATER, code_of_status, parse_retry_after
from streamweir.errors import ErrorInfo, error_info
from streamweir.redaction import redact

__all__ = ["classify_break", "classify_exception"]

_EXCEPTIONS: Final[dict[str, str | None]] = {
    "streamweir.LimitExceeded": "STREAM_LIMIT_EXCEEDED",
    "streamweir.ProtocolError": "UPSTREAM_INVALID_RESPONSE",
    **dict.fromkeys(
        [
            "aiohttp.ServerTimeoutError",
            "anthropic.APITimeoutError",
            "botocore.ConnectTimeoutError",
            "botocore.ReadTimeoutError",
            "builtins.TimeoutError",
            "httpcore.TimeoutException",
            "httpx.TimeoutException",
            "litellm.Timeout",
            "openai.APITimeoutError",
            "requests.ConnectTimeout",  # it is a ConnectionError too, so it has to come first
            "requests.Timeout",
            "urllib3.TimeoutError",
        ],
        "UPSTREAM_TIMEOUT",
    ),
    **dict.fromkeys(
        [
            *("aiohttp.ClientConnectionError", "anthropic.APIConnectionError"),
            *("botocore.ConnectionClosedError", "botocore.EndpointConnectionError"),
            *("builtins.ConnectionError", "httpcore.NetworkError", "httpcore.ProxyError"),
            *("httpcore.RemoteProtocolError", "httpx.NetworkError", "httpx.ProxyError"),
            *("httpx.RemoteProtocolError", "openai.APIConnectionError", "requests.ConnectionError"),
            *("socket.gaierror", "socket.herror", "ssl.SSLError"),
            *("urllib.URLError", "urllib3.ProtocolError"),
        ],
        "UPSTREAM_UNREACHABLE",
    ),
    **dict.fromkeys(
        [
            "aiohttp.ClientPayloadError",
            "asyncio.IncompleteReadError",
            "http.IncompleteRead",
            "requests.ChunkedEncodingError",
            "urllib3.IncompleteRead",
        ],
        "UPSTREAM_TRUNCATED",
    ),
    **dict.fromkeys(["httpx.DecodingError", "aiohttp.ContentTypeError"], "UPSTREAM_INVALID_RESPONSE"),
    "urllib.HTTPError": None,  # it is a URLError, but has a status
}
"""The code for each exception, by package and class name: neither httpx nor any SDK is imported here."""

_LOST_CONNECTIONS: Final = frozenset(
    {
        *("aiohttp.ServerDisconnectedError", "botocore.ConnectionClosedError"),
        *("builtins.BrokenPipeError", "builtins.ConnectionAbortedError"),
        *("builtins.ConnectionResetError", "httpcore.ReadError", "httpcore.RemoteProtocolError"),
        *("httpx.ReadError", "httpx.RemoteProtocolError", "urllib3.ProtocolError"),
    }
)
"""Exceptions for the loss of an open connection. They do not tell whether an answer had begun."""

_NETWORK_ERRNOS: Final = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EHOSTDOWN,
        errno.EADDRNOTAVAIL,
        errno.ENOTCONN,
    }
)
"""Numbers of OSErrors about networks. Other numbers concern files, which is a fault of the application."""

_PROGRAMMING_ERRORS: Final = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ImportError, LookupError, MemoryError,
    NameError, NotImplementedError, OSError, RecursionError, SyntaxError, SystemError, TypeError, ValueError,
)  # fmt: skip
"""Exceptions about code, data or files, whose words are no evidence."""

_CONNECTION_ERROR: Final = "Connection error."
"""The message of `APIConnectionError` of the OpenAI and Anthropic SDKs when they cannot connect."""

_MAX_CAUSES: Final = 8  # enough for every SDK; a chain of causes may be a cycle


def classify_exception(exc: BaseException, *, debug: bool = False) -> ErrorInfo:
    """Return the error info for an exception. The exception's text is never sent to the client.

    If the exception has an attribute `info: ErrorInfo`, the attribute is returned. Otherwise the type counts
    first (timeouts and connection errors of the standard library, httpx, aiohttp and the usual SDKs), then a
    `status_code`, `status` or `response.status_code`. `__cause__` and exception groups with one exception are
    searched too. Words come last; without any evidence the result is `INTERNAL`. Attributes of the exception
    that raise are ignored.

    With `debug`, `details` is `{"exception": <type>, "message": <its text, redacted>}`.
    """
    try:
        info = _info_of_exception(exc)
    except Exception:  # properties, `__class__` and `__eq__` of foreign classes may raise
        info = error_info("INTERNAL")
    if not debug:
        return msgspec.structs.replace(info, details=None)
    if info.details is not None:
        return info
    details = {"exception": redact(type(exc).__name__), "message": redact(_text_of_exception(exc))}
    return msgspec.structs.replace(info, details=details)


def classify_break(exc: BaseException, *, has_begun: bool, debug: bool = False) -> ErrorInfo:
    """Return the error info for an exception that ends a stream, as `classify_exception` does. Never raises.

    Args:
        exc: the exception.
        has_begun: an event has come, so that a lost connection means that the stream broke off.
        debug: see `classify_exception`.
    """
    info = classify_exception(exc, debug=debug)
    if has_begun and info.code == "UPSTREAM_UNREACHABLE" and any(map(_is_lost_connection, _causes(exc))):
        return msgspec.structs.replace(error_info("UPSTREAM_TRUNCATED"), details=info.details)
    return info


def _is_lost_connection(exc: BaseException) -> bool:
    return not _LOST_CONNECTIONS.isdisjoint(map(_class_name, type(exc).__mro__))


def _class_name(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"


def _info_of_exception(exc: BaseException) -> ErrorInfo:
    causes = list(_causes(exc))
    for cause in causes:
        if info := _info_of_facts(cause):
            return info
    for cause in causes:
        if not issubclass(type(cause), _PROGRAMMING_ERRORS) and (code := _code_of_words(cause)):
            return error_info(code)
    return error_info("INTERNAL")


def _code_of_words(exc: BaseException) -> str | None:
    text = _text_of_exception(exc)
    if text.strip() == _CONNECTION_ERROR:
        return "UPSTREAM_UNREACHABLE"
    return most_exact(None, _attribute(exc, "code"), text)


def _causes(exc: object) -> Iterator[BaseException]:
    """Yield the exception and its causes, outermost first."""
    for _ in range(_MAX_CAUSES):
        if not issubclass(type(exc), BaseException):
            return
        yield exc  # type: ignore[misc]  # not isinstance: that would ask their `__class__`
        exc = _only_member(exc) or _attribute(exc, "__cause__")


def _only_member(exc: object) -> object:
    members = _attribute(exc, "exceptions") if issubclass(type(exc), BaseExceptionGroup) else None
    return members[0] if isinstance(members, tuple) and len(members) == 1 else None


def _info_of_facts(exc: BaseException) -> ErrorInfo | None:
    """Return the info of an exception by its `info`, type or status; None if these give no evidence."""
    info = _attribute(exc, "info")
    if isinstance(info, ErrorInfo):
        return info
    if code := _code_of_type(exc):
        return error_info(code)
    return _info_of_status_attribute(exc)


def _code_of_type(exc: BaseException) -> str | None:
    for cls in type(exc).__mro__:
        name = _class_name(cls)
        if name in _EXCEPTIONS:
            return _EXCEPTIONS[name]
    return "UPSTREAM_UNREACHABLE" if isinstance(exc, OSError) and _is_network(exc) else None


def _is_network(exc: OSError) -> bool:
    # asyncio joins the failures of all addresses of a host into one OSError without a number
    return exc.errno in _NETWORK_ERRNOS or (
        exc.errno is None and "Connect call failed" in _text_of_exception(exc)
    )


def _info_of_status_attribute(exc: BaseException) -> ErrorInfo | None:
    response = _attribute(exc, "response")
    holders = (
        (exc, "status_code"),
        (exc, "status"),
        (response, "status_code"),
        (response, "status"),
        (exc, "code"),
    )
    for holder, name in holders:
        if known := code_of_status(status := _attribute(holder, name)):
            code = most_exact(known, _attribute(exc, "code"), _text_of_exception(exc)) or known
            retry_after_ms = _retry_after_of(response) if status in RETRY_LATER else None
            return error_info(code, retry_after_ms=retry_after_ms)
    return None


def _retry_after_of(response: object) -> int | None:
    headers = _attribute(response, "headers")
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    return parse_retry_after(value, now=time.time()) if isinstance(value, str) else None


def _attribute(owner: object, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # a property that raises has no value
        return None


def _text_of_exception(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:
        return ""
