"""Makes the names at the root of template trees: the fields of the client's body, and additional names.

Source: the request contract, section 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from streamweir.codec.dialects import Dialects
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.opaque_values import OpaqueValues
from streamweir.requests.own_turns import with_own_turns
from streamweir.requests.reading import body_of_query, read_canonical
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.upstream.header_selection import request_selection

__all__ = ["TemplateNames", "found_sound"]


class TemplateNames:
    """Makes the names for the trees of an endpoint.

    Args:
        forward_headers: the `forward_headers` of the endpoint: the headers of clients that trees can read.
        configured: the headers, in lower case, that the configuration sets; patterns do not cover them.
        dialects: the dialects, to look up the protocols of clients.
    """

    def __init__(self, forward_headers: Iterable[str], configured: Iterable[str], dialects: Dialects) -> None:
        self._forwarded = request_selection(forward_headers, ours=configured, sends_body_on=False)
        self._dialects = dialects

    def root(
        self, body: Mapping[str, Any] | None, incoming: Incoming, request: Request | None
    ) -> dict[str, Any]:
        """Return all names.

        Args:
            body: the body of the client's request; None if it is missing, or is not an object.
            incoming: the client's request.
            request: the canonical request; None if it could not be made.
        """
        return {**(body or {}), **self.around(body, incoming), "request": request}

    def around(self, body: Mapping[str, Any] | None, incoming: Incoming) -> dict[str, Any]:
        """Return the names besides the fields of the body and of the canonical request; see `root`."""
        passed: dict[str, list[str]] = {}
        for name, value in self._forwarded.of(incoming.headers):
            passed.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        return {
            "body": body,
            "path": dict(incoming.path_params),
            "query": dict(parse_qsl(incoming.query.decode("latin-1"), keep_blank_values=True)),
            "headers": {name: ", ".join(values) for name, values in passed.items()},
        }

    def canonical(self, body: Mapping[str, Any] | None, incoming: Incoming) -> Request | None:
        """Return the canonical request, without reasoning and opaque values; None if it cannot be made.

        Args:
            body: the body of the client's request; None: it has none, so its query is read instead.
            incoming: the client's request.
        """
        reader = self._dialects[incoming.answers].request_reader
        if reader is None:
            return None
        try:
            fields = body_of_query(incoming.query.decode("latin-1")) if body is None else body
            return with_own_turns(read_canonical(reader, fields), OpaqueValues())
        except RequestError:
            return None


def found_sound(place: tuple[str | int, ...], message: str) -> None:
    """Raise for a fault in a tree: an error of the gateway, because trees are checked when loaded."""
    raise AssertionError(f"{place}: {message}")
