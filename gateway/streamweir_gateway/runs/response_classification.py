"""Classification of an upstream's response before its body is decoded: a stream or a failure.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import chain
from typing import Final

import msgspec

from streamweir.classification import classify_failure, error_in_body, info_for_status, parse_retry_after
from streamweir.errors import CODES, ErrorInfo, MalformedEvent, StreamweirError, error_info
from streamweir.events import Error, SessionEnd, SessionStart
from streamweir.jsontext import parse_json
from streamweir.redaction import redact, redact_value
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader
from streamweir_gateway.requests.request_sequence import MAX_ANSWER_BYTES, RequestSequence
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["classify_response", "first_answer"]

ERROR_BODY_BYTES: Final = 64 << 10
ERROR_BODY_SECONDS: Final = 2.0
"""The longest time for which the body of an error is read; the status is enough without it."""

_NO_STREAM: Final = frozenset({b"audio", b"font", b"image", b"multipart", b"video"})


async def classify_response(
    response: UpstreamResponse, *, reader: Callable[[], StreamReader], client_credentials: bool, debug: bool
) -> ErrorInfo | None:
    """Return the failure that `response` is; None if it can be a stream, whose body has not been read then.

    Args:
        response: of the upstream.
        reader: makes a reader of the upstream's dialect, for errors that are written in it.
        client_credentials: the upstream got the client's own credentials: a 401 or 403 is passed on.
        debug: add the redacted text of the upstream.
    """
    if response.status == 200:
        return None if _may_be_stream(response) else error_info("UPSTREAM_INVALID_RESPONSE")
    if not 400 <= response.status <= 599:
        return error_info("UPSTREAM_INVALID_RESPONSE")
    body = await _error_body(response)
    return _info_of_error(response, body, reader, client_credentials=client_credentials, debug=debug)


async def first_answer(
    response: UpstreamResponse,
    sequence: RequestSequence,
    *,
    reader: Callable[[], StreamReader],
    client_credentials: bool,
    debug: bool,
) -> ErrorInfo | None:
    """Return the failure that the answer to a first request is; None if it was read.

    Args:
        response: to a request before the last one.
        sequence: of the attempt; keeps the values of the answer that later requests need.
        reader: makes a reader of the upstream's dialect, for errors that are written in it.
        client_credentials: the upstream got the client's own credentials: a 401 or 403 is passed on.
        debug: add the redacted text of the upstream.
    """
    body = bytearray()
    while len(body) <= MAX_ANSWER_BYTES and (data := await response.read()):
        body += data
    answer = bytes(body)
    if response.status >= 400 and not sequence.goes_on_after(response.status, answer):
        error = answer[:ERROR_BODY_BYTES]
        return _info_of_error(response, error, reader, client_credentials=client_credentials, debug=debug)
    is_answer = 200 <= response.status < 300 or response.status >= 400
    if is_answer and len(answer) <= MAX_ANSWER_BYTES and sequence.take(answer):
        return None
    return _info_of_answer(answer[:ERROR_BODY_BYTES], reader)


def _info_of_answer(body: bytes, reader: Callable[[], StreamReader]) -> ErrorInfo:
    """Return the failure in an answer whose status is no error; the error that it reports, if any."""
    refused = error_info("UPSTREAM_INVALID_RESPONSE")
    info = _refined(refused, 0, body, reader)
    return info if info.code != "UPSTREAM_ERROR" or _error_of_dialect(body, reader) else refused


def _info_of_error(
    response: UpstreamResponse,
    body: bytes,
    reader: Callable[[], StreamReader],
    *,
    client_credentials: bool,
    debug: bool,
) -> ErrorInfo:
    """Return the failure that an error status and its body mean."""
    retry_after_ms = parse_retry_after(_retry_after(response), now=time.time())
    info = info_for_status(response.status, retry_after_ms=retry_after_ms)
    info = _refined(info, response.status, body, reader)
    if debug:
        info = msgspec.structs.replace(info, details=_details(response.status, body))
    if client_credentials and info.code == "AUTH_FAILED":
        info = msgspec.structs.replace(info, status=response.status)
    return info


def _retry_after(response: UpstreamResponse) -> str | None:
    values = response.values_of("retry-after")
    return values[0].decode("latin-1") if values else None


def _may_be_stream(response: UpstreamResponse) -> bool:
    """Return whether the content type can be that of a stream. HTML can: some servers always send it."""
    types = response.values_of("content-type")
    return not types or types[0].partition(b"/")[0].strip().lower() not in _NO_STREAM


async def _error_body(response: UpstreamResponse) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            while len(body) < ERROR_BODY_BYTES and (data := await response.read()):
                body += data
    except (UpstreamFailure, TimeoutError):
        pass
    return bytes(body[:ERROR_BODY_BYTES])


def _refined(info: ErrorInfo, status: int, body: bytes, reader: Callable[[], StreamReader]) -> ErrorInfo:
    """Return the failure of the status, refined by the body if the status leaves the cause open."""
    if (error := _error_of_dialect(body, reader)) is not None:
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
    """Return the error event that the whole `body` is in the upstream's dialect; None if it is not."""
    if not body.strip():
        return None
    reader = make_reader()
    try:
        events = [*events_of(chain(reader.feed(body), reader.close()))]
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
    """Return the redacted body. JSON is redacted value by value, since escapes would hide secrets."""
    value = _json_of(body)
    if isinstance(value, dict | list):
        return {"upstream_status": status, "upstream_details": redact_value(value)}
    text = redact(body.decode("utf-8", "replace"))
    return {"upstream_status": status, **({"upstream_message": text} if text else {})}
