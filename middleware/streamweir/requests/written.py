"""What a writer makes: the requests of one attempt, one after the other.

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
        body: JSON; absent (None) with `form`, and where nothing is sent.
        form: the fields of a multipart form: texts, `Upload`s, lists of either.
        method: of HTTP.
        path: the server's path, without a query; None: the upstream's own. It may hold `{name}` of a value
            that an earlier request took; whatever else a client has a part in goes through `path_segment`.
        query: added to the upstream's own.
        headers: beside those of the configuration, which win; constants of the protocol only.
        takes: what later requests need of the answer: by name, where it stands in its JSON.
        given: what the decoder of the stream has to know that the stream does not say, by name; a value may
            be a `Taken`.
        goes_on: error statuses after which the next request is made all the same; the answer must hold the
            text that stands with it, whatever its capitals.
        is_overlaid: the configuration's tree is laid over this one; of several with a body the last one if
            none is marked.
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
    """Return a client's value as one segment of a path, so that it leads nowhere else.

    Args:
        value: the text; a `Taken` stays what it is.
        field: what it is called in the message.

    Raises:
        RequestError: no segment can hold it: it is empty, or dots that lead somewhere else.
    """
    if isinstance(value, Taken):
        return value
    if value in ("", ".", ".."):
        raise RequestError("cannot be empty, `.` or `..`", field=field)
    return quote(value, safe="")


def without_absent(**fields: Any) -> dict[str, Any]:
    """Return a body of what there is: None, empty lists and empty objects are left out."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and not (isinstance(value, list | Mapping) and not value)
    }
