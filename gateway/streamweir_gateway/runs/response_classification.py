"""Classification of an upstream's response before its body is decoded: a stream or a failure.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from streamweir.classification import classify_failure, error_in_body, info_for_status, parse_retry_after
from streamweir.classification.statuses import STREAM_STATUSES
from streamweir.errors import CODES, ErrorInfo, MalformedEvent, StreamweirError, error_info
from streamweir.events import Error, SessionEnd, SessionStart
from streamweir.failures.safe_body import MAX_BODY_BYTES, MAX_BODY_SECONDS
from streamweir.failures.upstream_refusal import UpstreamRefusal
from streamweir.jsontext import parse_json
from streamweir.redaction import redact, redact_value
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader
from streamweir_gateway.requests.request_sequence import MAX_ANSWER_BYTES, RequestSequence
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["ErrorContext", "Refused", "classify_response", "first_answer", "may_be_stream"]

_NO_STREAM: Final = re.compile(rb"(?:audio|font|image|multipart|video)\s*(?:/|$)")


class ErrorContext(NamedTuple):
    """The facts about a request and its upstream that are needed to classify an error status.

    Attributes:
        reader: makes a reader of the upstream's dialect, for errors that are written in it.
        client_credentials: whether the upstream got the client's own credentials. If so, a 401 or 403 is
            passed on.
        own_credentials: whether the upstream got credentials that the gateway has added.
        debug: whether the error gets the redacted text of the upstream.
    """

    reader: Callable[[], StreamReader]
    client_credentials: bool
    own_credentials: bool
    debug: bool


class Refused(NamedTuple):
    """The failure to report for a response that is not a stream."""

    info: ErrorInfo
    refusal: UpstreamRefusal | None = None
    """The response, if its status is an error.

    None for a redirect, or for a content type that is not a stream.
    """


@lru_cache(maxsize=64)
def may_be_stream(status: int, media_type: bytes) -> bool:
    """Return whether a status and a content type may be those of a stream.

    Some servers send HTML for all types.
    """
    return status in STREAM_STATUSES and _NO_STREAM.match(media_type) is None


async def classify_response(response: UpstreamResponse, context: ErrorContext) -> Refused:
    """Return the failure to report for a response that cannot be a stream; see `may_be_stream`."""
    if not 400 <= response.status <= 599:
        return Refused(error_info("UPSTREAM_INVALID_RESPONSE"))
    body, is_whole = await _error_body(response)
    return _refused(response, body, context, is_whole=is_whole)


async def first_answer(
    response: UpstreamResponse,
    sequence: RequestSequence,
    context: ErrorContext,
) -> Refused | None:
    """Read the answer to a first request.

    Return the failure if the answer is an error or unreadable, else None.

    Args:
        response: to a request before the last one.
        sequence: the requests of the attempt; keeps the values of the answer that later requests need.
        context: the context of the response.
    """
    body = bytearray()
    while len(body) <= MAX_ANSWER_BYTES and (data := await response.read()):
        body += data
    answer = bytes(body)
    if response.status >= 400 and not sequence.goes_on_after(response.status, answer):
        is_whole = len(answer) <= MAX_BODY_BYTES
        return _refused(response, answer[:MAX_BODY_BYTES], context, is_whole=is_whole)
    is_answer = 200 <= response.status < 300 or response.status >= 400
    if is_answer and len(answer) <= MAX_ANSWER_BYTES and sequence.take(answer):
        return None
    return Refused(_info_of_answer(answer[:MAX_BODY_BYTES], context.reader))


def _info_of_answer(body: bytes, reader: Callable[[], StreamReader]) -> ErrorInfo:
    """Return the failure of an answer without an error status: the error in its body, or the default."""
    refused = error_info("UPSTREAM_INVALID_RESPONSE")
    error = _error_of_dialect(body, reader)
    info = _refined(refused, 0, body, error)
    return info if info.code != "UPSTREAM_ERROR" or error else refused


def _refused(response: UpstreamResponse, body: bytes, context: ErrorContext, *, is_whole: bool) -> Refused:
    """Return the failure for an error status and its body, with those parts that a client may get."""
    error = _error_of_dialect(body, context.reader)
    info = _info_of_error(response, body, error, context)
    refusal = UpstreamRefusal(
        response.status,
        response.headers,
        body if is_whole else None,
        error,
        is_ours=context.own_credentials and not context.client_credentials,
    )
    return Refused(info, refusal)


def _info_of_error(
    response: UpstreamResponse, body: bytes, error: Error | None, context: ErrorContext
) -> ErrorInfo:
    retry_after_ms = parse_retry_after(_retry_after(response), now=time.time())
    info = info_for_status(response.status, retry_after_ms=retry_after_ms)
    info = _refined(info, response.status, body, error)
    if context.debug:
        info = msgspec.structs.replace(info, details=_details(response.status, body))
    if context.client_credentials and info.code == "AUTH_FAILED":
        info = msgspec.structs.replace(info, status=response.status)
    return info


def _retry_after(response: UpstreamResponse) -> str | None:
    values = response.values_of("retry-after")
    return values[0].decode("latin-1") if values else None


async def _error_body(response: UpstreamResponse) -> tuple[bytes, bool]:
    """Return the beginning of the body of an error status, and whether this is the whole body."""
    body, is_whole = bytearray(), False
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            while len(body) <= MAX_BODY_BYTES and not is_whole:
                data = await response.read()
                body += data
                response.error_bytes = len(body)
                is_whole = not data or response.is_over()
    except (UpstreamFailure, TimeoutError):
        pass
    return bytes(body[:MAX_BODY_BYTES]), is_whole and len(body) <= MAX_BODY_BYTES


def _refined(info: ErrorInfo, status: int, body: bytes, error: Error | None) -> ErrorInfo:
    """Return `info`, refined by the error in the body if the status leaves the cause open."""
    if error is not None:
        return _with_error(info, error, status)
    message, code = error_in_body(_json_of(body))
    found = classify_failure(message, code=code, status=status)
    if found.code not in CODES or found.code == info.code:
        return info
    return error_info(found.code, retry_after_ms=info.retry_after_ms)


def _with_error(info: ErrorInfo, error: Error, status: int) -> ErrorInfo:
    found = classify_failure(code=error.code, status=status)
    row = CODES.get(found.code, CODES["UPSTREAM_ERROR"])
    own_word = found.code not in CODES
    return ErrorInfo(
        code=found.code,
        error_type=error.error_type if own_word else found.error_type,
        message=error.message if error.for_users and redact(error.message) else row.message,
        recoverable=error.recoverable if found.code == error.code else found.recoverable,
        status=row.status,
        reason=found.reason,
        retry_after_ms=error.retry_after_ms or info.retry_after_ms,
    )


def _error_of_dialect(body: bytes, make_reader: Callable[[], StreamReader]) -> Error | None:
    """Return the error event in `body`, read in the upstream's dialect; None if there is no error event."""
    if not body.strip():
        return None
    reader = make_reader()
    try:
        events = [*events_of(reader.feed(body)), *events_of(reader.close())]
    except StreamweirError:
        return None
    errors = [event for event in events if isinstance(event, Error)]
    is_error = len(errors) == 1 and all(
        isinstance(event, Error | SessionStart | SessionEnd) for event in events
    )
    return errors[0] if is_error else None


def _json_of(body: bytes) -> object:
    try:
        return parse_json(body)[0]
    except MalformedEvent:
        return None


def _details(status: int, body: bytes) -> dict[str, object]:
    """Return the redacted body. JSON is redacted value by value, because escapes would hide secrets."""
    value = _json_of(body)
    if isinstance(value, dict | list):
        return {"upstream_status": status, "upstream_details": redact_value(value)}
    text = redact(body.decode("utf-8", "replace"))
    return {"upstream_status": status, **({"upstream_message": text} if text else {})}
