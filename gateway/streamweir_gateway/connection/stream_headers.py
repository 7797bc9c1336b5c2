"""The headers of a stream. Streams of one kind differ in their request id alone, so lines are written once.

Layers that add headers, and the encoder of responses, need not look into them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from streamweir.http.headers import REQUEST_ID, Headers, stream_headers

__all__ = ["StreamHeaders", "headers_of_stream"]

_PLAIN_ID: Final = re.compile(rb"[A-Za-z0-9._:-]+")


class StreamHeaders(list[tuple[bytes, bytes]]):
    """Headers of the gateway alone: valid, each once, none about the framing. The list must not be changed.

    Attributes:
        lines: the headers as they are written, each with its line end.
    """

    __slots__ = ("lines",)

    lines: bytes


def headers_of_stream(media_type: str, request_id: str, content_type: bytes = b"") -> Headers:
    """Return the headers of a stream or a folded answer.

    Args:
        media_type: the media type of the gateway's own answer.
        request_id: the request id.
        content_type: a valid content type to send in place of `media_type`; empty: none.
    """
    first, last, before, after = _parts(media_type, content_type)
    written = request_id.encode("ascii")
    headers = StreamHeaders((*first, (REQUEST_ID, written), *last))
    if _PLAIN_ID.fullmatch(written) is None:
        return [*headers]
    headers.lines = before + written + after
    return headers


@lru_cache(maxsize=64)
def _parts(media_type: str, content_type: bytes) -> tuple[Headers, Headers, bytes, bytes]:
    """Return the headers before and after the request id, and the written lines around its value."""
    own = [header for header in stream_headers(media_type, "") if header[0] != REQUEST_ID]
    if content_type:
        own[0] = b"content-type", content_type
    first, last = own[:-1], own[-1:]
    return first, last, b"%b%b: " % (_lines(first), REQUEST_ID), b"\r\n" + _lines(last)


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
