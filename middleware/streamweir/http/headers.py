"""Headers of requests and of streamed responses, as ASGI has them.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from streamweir.http.response_headers import NO_SNIFFING, STREAM_HEADERS, response_headers
from streamweir.http.sending import Scope
from streamweir.request_id import new_request_id, valid_request_id

__all__ = [
    "REQUEST_ID",
    "HeaderList",
    "Headers",
    "announced_length",
    "encoded_headers",
    "header_value",
    "header_values",
    "is_file",
    "kept_headers",
    "media_type_of",
    "replaced",
    "request_id_of",
    "settled_request_id",
    "stream_headers",
]

HeaderList: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Headers of a scope: names in lower case."""

Headers: TypeAlias = list[tuple[bytes, bytes]]
"""Headers of a response."""

REQUEST_ID: Final = b"x-request-id"

_DIGITS: Final = 20
"""The digits of a length that are read: a longer number is larger than every limit anyway."""

_OURS: Final = frozenset(
    {
        b"content-type",
        b"content-length",
        b"transfer-encoding",
        b"etag",
        REQUEST_ID,
        *(name.lower().encode("ascii") for name in (*STREAM_HEADERS, *NO_SNIFFING)),
    }
)
"""Headers that describe the replaced body, or that are set anew."""


def header_values(headers: HeaderList, name: bytes) -> list[str]:
    """Return every value of the header `name`, in order."""
    length = len(name)  # so that most headers cost no call
    return [value.decode("latin-1") for key, value in headers if len(key) == length and key.lower() == name]


def announced_length(headers: HeaderList) -> int:
    """Return the largest `Content-Length` in bytes; 0 if no `Content-Length` is a number."""
    largest = 0
    for name, value in headers:
        if len(name) == 14 and name.lower() == b"content-length" and (digits := value.strip()).isdigit():
            largest = max(largest, int(digits[:_DIGITS]))
    return largest


def header_value(headers: HeaderList, name: bytes) -> str:
    """Return the lines of a header that holds a list, joined by commas; empty if the header is absent."""
    return ", ".join(header_values(headers, name))


def media_type_of(headers: HeaderList) -> str:
    """Return the media type without parameters, in lower case; empty if there is no content type."""
    given = header_values(headers, b"content-type")
    return given[0].partition(";")[0].strip().lower() if given else ""


def is_file(headers: HeaderList) -> bool:
    """Return whether the body is a file: it has a date or a name, or can be asked for in ranges."""
    return (
        header_value(headers, b"content-disposition").strip().lower() not in ("", "inline")
        or header_value(headers, b"accept-ranges").strip().lower() == "bytes"
        or header_value(headers, b"last-modified") != ""
    )


def replaced(headers: HeaderList, name: bytes, value: str) -> list[tuple[bytes, bytes]]:
    """Return `headers` with exactly one header `name`, whose value is `value`."""
    others = [(key, old) for key, old in headers if key.lower() != name]
    return [*others, (name, value.encode("latin-1"))]


def request_id_of(
    headers: HeaderList,
    name: bytes = REQUEST_ID,
    *,
    is_valid: Callable[[str], bool] = valid_request_id,
    make: Callable[[], str] = new_request_id,
) -> str:
    """Return the client's request id if the client sent exactly one and it is valid; else a new id."""
    given = header_values(headers, name)
    return given[0] if len(given) == 1 and is_valid(given[0]) else make()


def settled_request_id(scope: Scope) -> str:
    """Return the id of a request, and put it into the scope unless a layer above has done so."""
    state = scope.setdefault("state", {})
    request_id = state.get("request_id")
    if not isinstance(request_id, str):
        request_id = state["request_id"] = request_id_of(scope["headers"])
    return request_id


def kept_headers(headers: HeaderList) -> list[tuple[bytes, bytes]]:
    """Return the application's headers that remain true when the body is replaced by a stream."""
    return [(name, value) for name, value in headers if name.lower() not in _OURS]


def stream_headers(
    media_type: str, request_id: str, others: Sequence[tuple[bytes, bytes]] = ()
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a stream or a folded answer, followed by `others`."""
    return [*encoded_headers(response_headers(media_type, request_id)), *others]


def encoded_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers in the form of ASGI."""
    return [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
