"""The status of a folded answer: it is sent as a whole, so that a failure can still say what it is.

Source: the standard protocol 1.1, sections 4 and 5.
"""

from __future__ import annotations

from streamweir.errors import ErrorInfo

__all__ = ["folded_response"]


def folded_response(
    body: bytes,
    error: ErrorInfo | None,
    *,
    has_answer: bool,
    status: int = 200,
    failure: ErrorInfo | None = None,
) -> tuple[int, list[tuple[bytes, bytes]]]:
    """Return the status of a folded answer, and the headers that it has beside those of a stream.

    Args:
        body: all of it.
        error: that the stream ended with.
        has_answer: the answer holds more than the failure.
        status: of an answer that does.
        failure: the same failure as it was classified, which may know its status better than an event.
    """
    headers = [(b"content-length", b"%d" % len(body))]
    if error is None or has_answer:
        return status, headers
    if error.retry_after_ms is not None:
        headers.append((b"retry-after", b"%d" % -(-error.retry_after_ms // 1000)))
    known = failure if failure is not None and failure.code == error.code else error
    return known.status, headers
