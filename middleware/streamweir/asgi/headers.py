"""Headers of requests and of streamed responses, as ASGI has them.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from streamweir.request_id import new_request_id, valid_request_id

__all__ = [
    "REQUEST_ID",
    "HeaderList",
    "header_value",
    "header_values",
    "request_id_of",
    "stream_headers",
]

HeaderList: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Headers as a scope has them: names in lower case."""

REQUEST_ID: Final = b"x-request-id"

_STREAM: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"content-encoding", b"identity"),  # keeps compressing middleware and proxies off the stream
)


def header_values(headers: HeaderList, name: bytes) -> list[str]:
    """Return every value of the header `name`, in order."""
    return [value.decode("latin-1") for key, value in headers if key == name]


def header_value(headers: HeaderList, name: bytes) -> str:
    """Return the lines of a list header joined by commas, empty where it is absent."""
    return ", ".join(header_values(headers, name))


def request_id_of(headers: HeaderList) -> str:
    """Return the client's own request id where it gave a single valid one, else a new one."""
    given = header_values(headers, REQUEST_ID)
    return given[0] if len(given) == 1 and valid_request_id(given[0]) else new_request_id()


def stream_headers(
    media_type: str, request_id: str, others: Sequence[tuple[bytes, bytes]] = ()
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a streamed response; `others` follow."""
    return [
        (b"content-type", media_type.encode("latin-1")),
        *_STREAM,
        (REQUEST_ID, request_id.encode("ascii")),
        *others,
    ]
