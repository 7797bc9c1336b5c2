"""The errors of the client that asks for a stream and reads it.

    StreamRequestError (StreamweirError)
    ├── ConnectionFailed    no connection, or it ended before the answer's headers were complete
    ├── RequestTimeout      one of the clocks ran out; `info.reason` says which
    ├── RequestRejected     a status other than 200, or an error envelope in place of a stream
    ├── StreamFailed        the stream's own terminal error, or an answer that is no stream
    └── StreamTruncated     the stream broke off: it has no `session_end`

They are defined without an HTTP client, so that code which folds a stream can use them without one.
"""

from __future__ import annotations

from streamweir.errors import ErrorInfo, StreamweirError

__all__ = [
    "ConnectionFailed",
    "RequestRejected",
    "RequestTimeout",
    "StreamFailed",
    "StreamRequestError",
    "StreamTruncated",
]


class StreamRequestError(StreamweirError):
    """The stream could not be started, or could not be read to its end.

    Attributes:
        info: the classified failure; its message is safe to show.
        request_id: the id of the request, which is also in the server's log.
        status: the HTTP status of the answer; None if there was no answer.
    """

    def __init__(self, info: ErrorInfo, *, request_id: str | None = None, status: int | None = None) -> None:
        super().__init__(info)
        self.info = info
        self.request_id = request_id
        self.status = status

    def __str__(self) -> str:
        of_request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.info.code}: {self.info.message}{of_request}"


class ConnectionFailed(StreamRequestError):
    """There was no connection, or it ended before the answer's headers were complete."""


class RequestTimeout(StreamRequestError):
    """A clock ran out; `info.reason` says which one: connect, first event, idle or total."""


class RequestRejected(StreamRequestError):
    """The server answered with a status other than 200, or with an error envelope in place of a stream."""


class StreamFailed(StreamRequestError):
    """The stream ended with a terminal error, or the body is not a stream."""


class StreamTruncated(StreamRequestError):
    """The stream ended without its `session_end`."""
