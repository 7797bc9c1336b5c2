"""What the response to one request is written to: the transport, but for its close.

Source: RFC 9112, section 6.1 (no chunks for HTTP/1.0).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["PlainResponseTransport", "ResponseTransport"]

_CHUNKED: Final = b"transfer-encoding: chunked\r\n\r\n"
"""How uvicorn ends the headers of a response in chunks."""


class ResponseTransport:
    """As much of a transport as uvicorn's responses use; the connection decides how it is closed.

    Each write is a packet of its own, so what belongs together may be held until it is complete.
    """

    __slots__ = ("_close", "_held", "_send", "is_closing")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.is_closing = transport.is_closing
        self._send: Callable[[bytes], None] = transport.write
        self._close = close
        self._held: list[bytes] | None = None

    def write(self, data: bytes) -> None:
        """Write `data`, or keep it for a while."""
        if self._held is None:
            self._send(data)
        else:
            self._held.append(data)

    def cork(self, is_held: bool) -> None:
        """Keep what is written from here on, or write what was kept."""
        held, self._held = self._held, [] if is_held else None
        if held:
            self._send(b"".join(held))

    def close(self) -> None:
        """Close behind what was written."""
        self.cork(False)
        self._close()


class PlainResponseTransport(ResponseTransport):
    """The way out to a client of HTTP/1.0, which knows no chunks: the body ends with the connection."""

    __slots__ = ("_has_chunks",)

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__(transport, close)
        self._has_chunks: bool | None = None  # not known before the headers

    def write(self, data: bytes) -> None:
        """Write `data` without the chunk that it is in."""
        if self._has_chunks is None:
            self._has_chunks = data.endswith(_CHUNKED)
            super().write(data.removesuffix(_CHUNKED) + b"\r\n" if self._has_chunks else data)
        elif (
            self._has_chunks
        ):  # each write holds one chunk, the last one also the end, which is one of size 0
            size, _, rest = data.partition(b"\r\n")
            super().write(rest[: int(size or b"0", 16)])
        else:
            super().write(data)
