"""Recognises a JSON document in place of a stream: a whole answer, or a refusal with a success status.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["PossibleDocument", "is_json", "read_document"]

_LARGEST: Final = 1 << 20
"""The most bytes that a body may have to be taken for one document."""

_SECONDS: Final = 2.0
"""The longest wait, in seconds, for the end of a body whose first line is a complete document."""


class PossibleDocument(NamedTuple):
    """The beginning of a body that may be one document."""

    data: bytes
    is_over: bool
    """Whether `data` is the whole body."""
    is_document: bool
    """Whether `data` is the whole body, and is one JSON object or list."""


@lru_cache(maxsize=64)
def is_json(media_type: bytes) -> bool:
    """Return whether a content type, in lower case and without parameters, is that of a JSON document."""
    return media_type == b"application/json" or (
        media_type.startswith(b"application/") and media_type.endswith(b"+json")
    )


async def read_document(response: UpstreamResponse, begun: bytes, *, is_over: bool) -> PossibleDocument:
    """Read a body until it is known whether it is one JSON document.

    Args:
        response: the response of the upstream.
        begun: the bytes that have been read of the body.
        is_over: whether `begun` is the whole body.

    Raises:
        UpstreamFailure: the body broke off before its first byte.
        Interrupted: the run was ended meanwhile.
    """
    body = _Beginning()
    body.add(begun)
    while not is_over and len(body.data) <= _LARGEST and not body.is_stream:
        try:
            data = await _next_read(response, is_line=body.is_line)
        except UpstreamFailure:
            if not body.data:
                raise
            break  # the next read of the response fails again, behind what has come
        if data is None:
            break
        body.add(data)
        is_over = not data
    whole = bytes(body.data)
    return PossibleDocument(whole, is_over, is_over and _is_document(whole))


class _Beginning:
    """The bytes of a body that have arrived. Each byte is looked at once, even if the reads are small.

    Attributes:
        data: the bytes.
        is_line: whether the first line is complete and is a document, so the body may be a stream of lines.
        is_stream: whether the body does not begin as JSON, or bytes follow a first line that is a document.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.is_line = False
        self.is_stream = False
        self._first: int | None = None
        """The index of the first byte that is not blank."""
        self._has_line = False

    def add(self, data: bytes) -> None:
        """Append the bytes of the next read, and update `is_line` and `is_stream`."""
        start = len(self.data)
        self.data += data
        if self._first is None:
            text = data.lstrip()
            if not text:
                return
            start = self._first = len(self.data) - len(text)
            self.is_stream = text[:1] not in b"{["
        elif self.is_line:
            self.is_stream = self.is_stream or bool(data.strip())
        if not self._has_line and (end := self.data.find(b"\n", start)) >= 0:
            self._note_line(bytes(self.data[self._first : end]), bytes(self.data[end:]))

    def _note_line(self, line: bytes, rest: bytes) -> None:
        """Judge the first line.

        A line with nothing but an opening bracket begins a document of several lines.
        """
        self._has_line = True
        self.is_line = len(line.strip()) > 1 and _is_document(line)
        self.is_stream = self.is_stream or (self.is_line and bool(rest.strip()))


async def _next_read(response: UpstreamResponse, *, is_line: bool) -> bytes | None:
    """Return the next read. If the first line is complete and no read arrives in time, return None."""
    if not is_line:
        return await response.read()
    try:
        async with asyncio.timeout(_SECONDS):
            return await response.read()
    except TimeoutError:
        return None


def _is_document(data: bytes) -> bool:
    try:
        return isinstance(parse_json(data.strip())[0], dict | list)
    except MalformedEvent:
        return False
