"""The requests of one attempt, one after the other, as a writer makes them.

Source: the request contract, sections 4 (first requests) and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from streamweir.requests.errors import RequestError

__all__ = ["NOTHING", "Taken", "Upload", "Written", "path_segment", "without_absent"]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
NO_STATUSES: Final[Mapping[int, str]] = MappingProxyType({})


class Taken(str):
    """A value that the answer to an earlier request of the attempt has: shown as `{name}`.

    Args:
        name: of a key of that request's `takes`.
    """

    __slots__ = ("name",)

    def __new__(cls, name: str) -> Taken:
        """Return the value of that name."""
        taken = super().__new__(cls, f"{{{name}}}")
        taken.name = name
        return taken

    name: str


class Upload(NamedTuple):
    """A file among the fields of a form."""

    name: str
    media_type: str
    base64: str


class Written(NamedTuple):
    """One request to an upstream. The last one's answer is the stream.

    Attributes:
        body: JSON; absent (None) with `form`, and if no body is sent.
        form: the fields of a multipart form: texts, `Upload`s, lists of either.
        method: of HTTP.
        path: the server's path, without a query; None: the upstream's own. It may hold `{name}` of a value
            that an earlier request took; whatever else a client has a part in goes through `path_segment`.
        query: added to the upstream's own.
        headers: beside those of the configuration, which win; constants of the protocol only.
        takes: the values that later requests need from the answer: by name, the path in its JSON.
        given: the values that the decoder of the stream needs and that the stream does not have, by name; a
            value may be a `Taken`.
        goes_on: error statuses after which the next request is still made; the answer must contain the text
            of its status, in any case of letters.
        is_overlaid: the configuration's tree is laid over this one. If no request is marked, it is laid over
            the last one with a body.
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
        field: its name in the error message.

    Raises:
        RequestError: no segment can hold it: it is empty, or dots that name another folder.
    """
    if isinstance(value, Taken):
        return value
    if value in ("", ".", ".."):
        raise RequestError("cannot be empty, `.` or `..`", field=field)
    return quote(value, safe="")


def without_absent(**fields: Any) -> dict[str, Any]:
    """Return a body of these fields; None, empty lists and empty objects are left out."""
    return {
        name: value
        for name, value in fields.items()
        if value or (value is not None and not isinstance(value, list | Mapping))
    }
