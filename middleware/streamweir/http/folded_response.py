"""The status of an answer that is sent as a whole: if the answer is only a failure, the failure's status.

Source: the standard protocol 1.1, sections 4 and 5.
"""

from __future__ import annotations

from typing import Final

from streamweir.errors import ErrorInfo

__all__ = ["NO_RETRY", "folded_response"]

NO_RETRY: Final = (b"x-should-retry", b"false")
"""The header by which the clients of OpenAI and Anthropic decide not to retry, whatever the status."""


def folded_response(
    body: bytes,
    error: ErrorInfo | None,
    *,
    has_answer: bool,
    status: int = 200,
    failure: ErrorInfo | None = None,
    own_form: bool = False,
) -> tuple[int, list[tuple[bytes, bytes]]]:
    """Return the status of a folded answer, and its headers in addition to those of a stream.

    Args:
        body: the whole body.
        error: the error that the stream ended with; None if it succeeded.
        has_answer: the answer holds more than the failure.
        status: the status of an answer that does not consist only of a failure.
        failure: the classified form of `error`, whose status is more exact; None if it is not known.
        own_form: clients of the protocol decide by status and headers whether to retry.
    """
    headers = [(b"content-length", b"%d" % len(body))]
    if error is None or has_answer:
        return status, headers
    if error.retry_after_ms is not None:
        headers.append((b"retry-after", b"%d" % -(-error.retry_after_ms // 1000)))
    if own_form and not error.recoverable:
        headers.append(NO_RETRY)
    known = failure if failure is not None and failure.code == error.code else error
    return known.status, headers
