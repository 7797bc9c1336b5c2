"""The body of a client's request, read for the mapping of requests.

Source: the request contract, section 3 (refusals).
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.http.headers import HeaderList, announced_length, header_values
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import body_of_query, parse_body

__all__ = ["BodyBuffer", "check_length", "check_type", "client_body", "is_json_type"]

_JSON: Final = "application/json"
_JSON_SUFFIX: Final = "+json"
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
_OURS: Final = frozenset({"protocol"})
"""Query parameters that are meant for streamweir itself."""


def check_type(headers: HeaderList) -> None:
    """Raise `RequestError` for a body whose type is not JSON, or that has a content coding."""
    if not is_json_type(headers):
        raise RequestError("the body must be JSON (application/json)", code="UNSUPPORTED_MEDIA_TYPE")
    codings = header_values(headers, b"content-encoding")
    if any(value.strip().lower() not in ("", "identity") for value in codings):
        raise RequestError("the body must have no content coding", code="UNSUPPORTED_MEDIA_TYPE")


def is_json_type(headers: HeaderList) -> bool:
    """Return whether the type of a request's body is JSON; a missing type counts as JSON."""
    types = [value.partition(";")[0].strip().lower() for value in header_values(headers, b"content-type")]
    return all(name in ("", _JSON) or name.endswith(_JSON_SUFFIX) for name in types)


def client_body(method: str, data: bytes, query: bytes, *, may_be_absent: bool) -> dict[str, Any] | None:
    """Return the JSON object in the client's body; for a GET without a body, the object made of its query.

    Args:
        method: the method of the request.
        data: the body.
        query: the query of the request.
        may_be_absent: return None for a request without a body.

    Raises:
        RequestError: the body is not an object.
    """
    if not data and may_be_absent:
        return None
    if not data and method in _WITHOUT_BODY:
        return body_of_query(query.decode("latin-1"), left_out=_OURS)
    return parse_body(data)


def check_length(headers: HeaderList, max_bytes: int) -> None:
    """Raise `RequestError` for a body that is larger than `max_bytes` by its `Content-Length`."""
    if announced_length(headers) > max_bytes:
        raise _too_large(max_bytes)


class BodyBuffer:
    """The body of a request while it is being read.

    Args:
        max_bytes: the most bytes of the body.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Add the next piece; raise `RequestError` if the body is too large."""
        self._size += len(piece)
        if self._size > self._max:
            raise _too_large(self._max)
        self._pieces.append(piece)

    @property
    def data(self) -> bytes:
        """The pieces received until now, joined."""
        return b"".join(self._pieces)


def _too_large(max_bytes: int) -> RequestError:
    return RequestError(f"the body must have at most {max_bytes} bytes", code="REQUEST_TOO_LARGE")
