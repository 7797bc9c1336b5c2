"""The status of an answer that is sent as a whole, so that a failure can still say what it is.

Source: the standard protocol 1.1, sections 4 and 5.
"""

from __future__ import annotations

from typing import Final

from streamweir.errors import ErrorInfo

__all__ = ["NO_RETRY", "folded_response"]

NO_RETRY: Final = (b"x-should-retry", b"false")
"""What the clients of OpenAI and Anthropic go by, whatever the status."""


def folded_response(
    body: bytes,
    error: ErrorInfo | None,
    *,
    has_answer: bool,
    status: int = 200,
    failure: ErrorInfo | None = None,
    own_form: bool = False,
) -> tuple[int, list[tuple[bytes, bytes]]]:
    """Return the status of a folded answer, and the headers that it has beside those of a stream.

    Args:
        body: all of it.
        error: that the stream ended with.
        has_answer: the answer holds more than the failure.
        status: of an answer that does.
        failure: the same failure as it was classified, which may know its status better than an event.
        own_form: the protocol's clients go by status and headers: they are told not to try again in vain.
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
