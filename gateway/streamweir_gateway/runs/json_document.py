"""One JSON document in place of a stream: a whole answer, or a refusal with a good status.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["PossibleDocument", "is_json", "read_document"]

_LARGEST: Final = 1 << 20
"""The most bytes of a body that is taken for one document."""

_SECONDS: Final = 2.0
"""The longest wait for the end of a body whose first line is complete: it may be a stream of lines."""


class PossibleDocument(NamedTuple):
    """The beginning of a body."""

    data: bytes
    is_over: bool
    """`data` is the whole body."""
    is_document: bool
    """`data` is the whole body, and one JSON object or list."""


def is_json(response: UpstreamResponse) -> bool:
    """Return whether the content type is that of a JSON document."""
    types = response.values_of("content-type")
    essence = types[0].partition(b";")[0].strip().lower() if types else b""
    return essence == b"application/json" or (
        essence.startswith(b"application/") and essence.endswith(b"+json")
    )


async def read_document(response: UpstreamResponse, begun: bytes, *, is_over: bool) -> PossibleDocument:
    """Read a body until it is known whether it is one document.

    Args:
        response: of the upstream.
        begun: the bytes that have been read of the body.
        is_over: `begun` is the whole body.

    Raises:
        UpstreamFailure: it broke off before its first byte.
        Interrupted: the run was ended meanwhile.
    """
    body = bytearray(begun)
    while not is_over and len(body) <= _LARGEST and not _is_stream(body):
        try:
            data = await _next_read(response, is_line=_is_line(body))
        except UpstreamFailure:
            if not body:
                raise
            break  # the next read of the response fails again, behind what has come
        if data is None:
            break
        body += data
        is_over = not data
    return PossibleDocument(bytes(body), is_over, is_over and _is_document(bytes(body)))


async def _next_read(response: UpstreamResponse, *, is_line: bool) -> bytes | None:
    """Return the next read; None if it does not come in time behind a complete first line."""
    if not is_line:
        return await response.read()
    try:
        async with asyncio.timeout(_SECONDS):
            return await response.read()
    except TimeoutError:
        return None


def _is_line(body: bytearray) -> bool:
    """Return whether the first line is complete, and is more than the bracket that opens a document."""
    line, end, _ = bytes(body).lstrip().partition(b"\n")
    return bool(end) and len(line.strip()) > 1 and _is_document(line)


def _is_stream(body: bytearray) -> bool:
    """Return whether something follows a complete first line, or the body does not begin as JSON."""
    start = bytes(body).lstrip()
    if start and start[:1] not in b"{[":
        return True
    return _is_line(body) and bool(start.partition(b"\n")[2].strip())


def _is_document(data: bytes) -> bool:
    try:
        return isinstance(parse_json(data.strip())[0], dict | list)
    except MalformedEvent:
        return False
