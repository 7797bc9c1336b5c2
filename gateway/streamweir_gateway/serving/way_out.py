"""What the response to one request is written to: the transport, but for its close.

Source: RFC 9112, section 6.1 (no chunks for HTTP/1.0).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["PlainWayOut", "WayOut"]

_CHUNKED: Final = b"transfer-encoding: chunked\r\n\r\n"
"""How uvicorn ends the headers of a response in chunks."""


class WayOut:
    """As much of a transport as uvicorn's responses use; the connection decides how it is closed."""

    __slots__ = ("close", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write: Callable[[bytes], None] = transport.write
        self.is_closing = transport.is_closing
        self.close = close


class PlainWayOut(WayOut):
    """The way out to a client of HTTP/1.0, which knows no chunks: the body ends with the connection."""

    __slots__ = ("_has_chunks", "_send")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__(transport, close)
        self._send = transport.write
        self._has_chunks: bool | None = None  # not known before the headers
        self.write = self._write

    def _write(self, data: bytes) -> None:
        if self._has_chunks is None:
            self._has_chunks = data.endswith(_CHUNKED)
            self._send(data.removesuffix(_CHUNKED) + b"\r\n" if self._has_chunks else data)
        elif (
            self._has_chunks
        ):  # each write holds one chunk, the last one also the end, which is one of size 0
            size, _, rest = data.partition(b"\r\n")
            self._send(rest[: int(size or b"0", 16)])
        else:
            self._send(data)
