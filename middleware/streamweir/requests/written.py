"""The requests of one attempt in order, as a writer makes them.

Source: the request contract, sections 4 (first requests) and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from streamweir.requests.errors import RequestError

__all__ = ["NOTHING", "Taken", "Upload", "Written", "path_segment", "without_absent"]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
NO_STATUSES: Final[Mapping[int, str]] = MappingProxyType({})


class Taken(str):
    """A value from the answer to an earlier request of the attempt; displayed as `{name}`.

    Args:
        name: a key of that request's `takes`.
    """

    __slots__ = ("name",)

    def __new__(cls, name: str) -> Taken:
        """Return the value with that name."""
        taken = super().__new__(cls, f"{{{name}}}")
        taken.name = name
        return taken

    name: str


class Upload(NamedTuple):
    """A file in a field of a form."""

    name: str
    media_type: str
    base64: str


class Written(msgspec.Struct, frozen=True):
    """One request to an upstream. The answer to the last request is the stream.

    Attributes:
        body: JSON; absent (None) with `form`, and if no body is sent.
        form: the fields of a multipart form: texts, `Upload`s, lists of either.
        method: of HTTP.
        path: the server's path, without a query; None: the upstream's own. It may contain `{name}` for a
            value taken from an earlier answer; a client's other values must pass `path_segment`.
        query: parameters added to the query of the upstream's URL.
        headers: constant headers of the protocol; headers of the configuration override them.
        takes: the values of the answer for later requests: for each name, the path in the answer's JSON.
        given: the values that the decoder of the stream needs and that the stream does not have, by name; a
            value may be a `Taken`.
        goes_on: error statuses of this request after which the next request is still sent; the answer must
            contain the text of its status, in any case of letters.
        is_overlaid: the configuration's tree is laid over this request. If no request is marked, the tree is
            laid over the last request with a body.
    """

    body: Any = None
    form: Mapping[str, Any] | None = None
    method: str = "POST"
    path: str | None = None
    query: Mapping[str, str] = NOTHING
    headers: Mapping[str, str] = NOTHING
    takes: Mapping[str, str] = NOTHING
    given: Mapping[str, str] = NOTHING
    goes_on: Mapping[int, str] = NO_STATUSES
    is_overlaid: bool = False


def path_segment(value: str, field: str) -> str:
    """Return a client's value as one segment of a path, so that it cannot name another path.

    Args:
        value: the text; a `Taken` stays what it is.
        field: the name of the value in the error message.

    Raises:
        RequestError: the value cannot be a segment: it is empty, or dots that name another folder.
    """
    if isinstance(value, Taken):
        return value
    if value in ("", ".", ".."):
        raise RequestError("cannot be empty, `.` or `..`", field=field)
    return quote(value, safe="")


_EMPTY: Final[tuple[Any, ...]] = ([], {})


def without_absent(**fields: Any) -> dict[str, Any]:
    """Return a body with these fields; None, empty lists and empty objects are left out."""
    return {
        name: value for name, value in fields.items() if value or (value is not None and value not in _EMPTY)
    }
