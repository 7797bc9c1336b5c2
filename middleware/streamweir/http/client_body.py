"""What a client sent, as far as a request to an upstream is made of it.

Source: the request contract, sections 3 (refusals) and 6 (names of templates).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from streamweir.http.headers import HeaderList, header_values
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import body_of_query, parse_body
from streamweir_gateway.upstream.header_selection import HeaderSelection

__all__ = ["check_type", "client_body", "names_around"]

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
        may_be_absent: None stands for a request without a body.

    Raises:
        RequestError: it is none.
    """
    if not data and may_be_absent:
        return None
    if not data and method in _WITHOUT_BODY:
        return body_of_query(query.decode("latin-1"), left_out=_OURS)
    return parse_body(data)


def names_around(
    body: Mapping[str, Any] | None,
    *,
    path_params: Mapping[str, str],
    query: bytes,
    headers: HeaderList,
    forwarded: HeaderSelection,
) -> dict[str, Any]:
    """Return the names that templates have beside the fields of the body.

    Args:
        body: of the client's request; None where there is none.
        path_params: the names of the endpoint's path.
        query: of the request.
        headers: of the request.
        forwarded: those that go on to upstreams.
    """
    passed: dict[str, list[str]] = {}
    for name, value in forwarded.of(headers):
        passed.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return {
        "body": body,
        "path": dict(path_params),
        "query": dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)),
        "headers": {name: ", ".join(values) for name, values in passed.items()},
    }
