"""The body of a client's request, read for the mapping of requests.

Source: the request contract, section 3 (refusals).
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.http.headers import HeaderList, header_values
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import body_of_query, parse_body

__all__ = ["check_type", "client_body"]

_JSON: Final = "application/json"
_JSON_SUFFIX: Final = "+json"
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
_OURS: Final = frozenset({"protocol"})
"""Query parameters that speak to the gateway."""


def check_type(headers: HeaderList) -> None:
    """Raise `RequestError` for a body that is not JSON by its type, or that is coded."""
    types = header_values(headers, b"content-type")
    for value in types:
        media_type = value.partition(";")[0].strip().lower()
        if media_type and media_type != _JSON and not media_type.endswith(_JSON_SUFFIX):
            raise RequestError("the body must be JSON (application/json)", code="UNSUPPORTED_MEDIA_TYPE")
    codings = header_values(headers, b"content-encoding")
    if any(value.strip().lower() not in ("", "identity") for value in codings):
        raise RequestError("the body must have no content coding", code="UNSUPPORTED_MEDIA_TYPE")


def client_body(method: str, data: bytes, query: bytes, *, may_be_absent: bool) -> dict[str, Any] | None:
    """Return the object that the client's body is; a GET without one is read from its query.

    Args:
        method: of the request.
        data: the body.
        query: of the request.
        may_be_absent: return None for a request without a body.

    Raises:
        RequestError: the body is not an object.
    """
    if not data and may_be_absent:
        return None
    if not data and method in _WITHOUT_BODY:
        return body_of_query(query.decode("latin-1"), left_out=_OURS)
    return parse_body(data)
