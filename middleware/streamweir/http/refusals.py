"""Refusals of requests before an application or an upstream is called: a status and a JSON envelope.

Source: the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.dialect import Dialect
from streamweir.codec.failed_request import FailedRequest
from streamweir.errors import ErrorInfo
from streamweir.http.error_envelope import envelope, preflight_envelope
from streamweir.http.response_headers import NO_SNIFFING
from streamweir.http.sending import Send, send_whole
from streamweir.jsontext import write_json
from streamweir.refusal_codes import REFUSALS

__all__ = ["Refusal", "envelope", "failure_parts", "refusal_parts", "send_failure", "send_refusal"]


class Refusal(Exception):
    """Raised to refuse a request; the shell makes the response.

    Args:
        code: one of `REFUSALS`.
        message: replaces the message of the row. It is written for developers of clients and never contains
            the text of an exception.
        headers: the headers of the response.
        status: replaces the status of the row.
        error: fields that replace those of the `error` object, if the body of the protocol has one.
    """

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        status: int | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.headers = headers
        self.error = error
        self.status = REFUSALS[code].status if status is None else status


def refusal_parts(
    refusal: Refusal, *, request_id: str, protocol: Dialect | None = None
) -> tuple[int, Mapping[str, Any], dict[str, str]]:
    """Return status, body and headers of the response to a refused request.

    Args:
        refusal: the refusal of the request.
        request_id: the id of the request.
        protocol: the protocol of the client, which may define an error body; None: the body is the envelope.
    """
    row = REFUSALS[refusal.code]
    message = refusal.message or row.message
    failure = FailedRequest(refusal.status, refusal.code, message, row.retry, request_id)
    body, headers = _body(failure, protocol)
    if refusal.error and protocol is not None and isinstance(own := body.get("error"), Mapping):
        body = {**body, "error": {**own, **refusal.error}}
    return refusal.status, body, {**headers, **(refusal.headers or {})}


async def send_refusal(
    send: Send, refusal: Refusal, *, request_id: str, protocol: Dialect | None = None
) -> int:
    """Send the response to a refused request; the arguments are those of `refusal_parts`.

    Returns:
        The number of bytes of its body.
    """
    status, body, headers = refusal_parts(refusal, request_id=request_id, protocol=protocol)
    return await _send(send, status, body, headers)


def failure_parts(
    info: ErrorInfo, *, request_id: str | None, debug: bool, protocol: Dialect | None = None
) -> tuple[int, Mapping[str, Any], dict[str, str]]:
    """Return status, body and headers of the response that reports a failure in place of a stream.

    Args:
        info: the failure.
        request_id: the id of the request; None: the current one.
        debug: add details to the envelope.
        protocol: the protocol of the client, which may define an error body; None: the body is the envelope.
    """
    status, ours = preflight_envelope(info, request_id=request_id, debug=debug)
    failure = FailedRequest(info.status, info.code, info.message, info.recoverable, ours["request_id"])
    own = None if protocol is None else protocol.failure_body(failure)
    headers = _headers(failure.request_id)
    if own is not None and not info.recoverable:
        headers["X-Should-Retry"] = "false"
    body = ours if own is None else own
    if info.retry_after_ms is not None:
        headers["Retry-After"] = str(-(-info.retry_after_ms // 1000))
    return status, body, headers


async def send_failure(send: Send, info: ErrorInfo, *, request_id: str, debug: bool) -> int:
    """Send the response that reports a failure in place of a stream; return the bytes of its body."""
    status, body, headers = failure_parts(info, request_id=request_id, debug=debug)
    return await _send(send, status, body, headers)


def _body(failure: FailedRequest, protocol: Dialect | None) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return the error body of the protocol and its headers, or the envelope if it defines none."""
    own = None if protocol is None else protocol.failure_body(failure)
    headers = _headers(failure.request_id)
    if own is None:
        ours = envelope(failure.code, failure.message, retry=failure.retry, request_id=failure.request_id)
        return ours, headers
    return own, headers if failure.retry else {**headers, "X-Should-Retry": "false"}


def _headers(request_id: str) -> dict[str, str]:
    return {"Cache-Control": "no-store", **NO_SNIFFING, "X-Request-Id": request_id}


async def _send(send: Send, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> int:
    fields = {"Content-Type": "application/json", **headers}
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    content = write_json(body)
    await send_whole(send, status, content, raw)
    return len(content)
