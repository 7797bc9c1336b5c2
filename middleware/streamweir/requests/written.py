"""The requests of one attempt, as writers return them.

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
    """A placeholder for a value in the answer to an earlier request of the attempt; shown as `{name}`.

    Args:
        name: a key of that request's `takes`.
    """

    __slots__ = ("name",)

    def __new__(cls, name: str) -> Taken:
        """Return the placeholder of that name."""
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
        body: the JSON body; None with `form`, and for a request without a body.
        form: the fields of a multipart form: texts, `Upload`s, and lists of them.
        method: the HTTP method.
        path: the path without a query; None: the path of the upstream's URL. It may hold `{name}` for a value
            of an earlier `takes`. Values of clients in it must have passed `path_segment`.
        query: parameters to add to the upstream's query.
        headers: headers of the protocol, with constant values. Configured headers replace them.
        takes: by name, the path in the answer's JSON of each value that later requests need.
        given: by name, values that the decoder needs and the stream does not contain; may be `Taken`.
        goes_on: by error status, a text: if the answer has the status and contains the text, in any case of
            letters, the next request is made.
        is_overlaid: the configuration's tree is laid over this request. If no request is marked, it is laid
            over the last one with a body.
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
    """Return a client's value as one segment of a path.

    Args:
        value: the text; a `Taken` is returned unchanged.
        field: the name of the field in the error.

    Raises:
        RequestError: the value is empty, `.` or `..`.
    """
    if isinstance(value, Taken):
        return value
    if value in ("", ".", ".."):
        raise RequestError("cannot be empty, `.` or `..`", field=field)
    return quote(value, safe="")


def without_absent(**fields: Any) -> dict[str, Any]:
    """Return these fields without those that are None, an empty list or an empty object."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not (isinstance(value, list | Mapping) and not value)
    }
