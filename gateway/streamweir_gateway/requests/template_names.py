"""The names that a template tree has beside the fields of the client's body.

Source: the request contract, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from streamweir.http.headers import HeaderList
from streamweir_gateway.upstream.header_selection import HeaderSelection

__all__ = ["names_around"]


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
        body: of the client's request; None if it has no body.
        path_params: the names of the endpoint's path.
        query: of the request.
        headers: of the request.
        forwarded: selects the headers that are forwarded to upstreams.
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
