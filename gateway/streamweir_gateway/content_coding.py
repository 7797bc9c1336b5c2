"""Content codings of a response body, undone piece by piece and bounded.

`Accept-Encoding: identity` is sent, and some servers compress all the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from .failures import InvalidResponse, Truncated

__all__ = ["BodyDecoder", "body_decoder"]

PIECE: Final = 256 << 10
"""The most decoded bytes of one piece: a few bytes can unpack to a thousand times as many."""

_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS


class BodyDecoder(Protocol):
    """Coded bytes in, decoded pieces out."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to, in bounded pieces; exhaust it before the next call.

        Raises:
            InvalidResponse: the bytes are not in this coding.
        """
        ...

    def finish(self) -> None:
        """The body has ended.

        Raises:
            Truncated: in the middle of the coded data.
        """
        ...


class Inflate:
    """gzip (also several members in a row) and deflate (with zlib's wrapper, or without as some send it)."""

    def __init__(self, *, raw_fallback: bool) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._raw_fallback = raw_fallback
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unpacks to."""
        while data:
            if self._inflate.eof:
                if not data.strip(b"\0"):  # padding after the last member
                    return
                self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
            piece = self._decompress(data)
            self._begun = True
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if piece:
                yield piece

    def finish(self) -> None:
        """Check that the last member is whole."""
        if self._begun and not self._inflate.eof:
            raise Truncated("the compressed body ended early")

    def _decompress(self, data: bytes) -> bytes:
        try:
            return self._inflate.decompress(data, PIECE)
        except zlib.error as error:
            if self._begun or not self._raw_fallback:
                raise InvalidResponse("the compressed body is corrupt") from error
        self._inflate = zlib.decompressobj(_RAW_DEFLATE)
        try:
            return self._inflate.decompress(data, PIECE)
        except zlib.error as error:
            raise InvalidResponse("the compressed body is corrupt") from error


def body_decoder(content_encoding: str) -> BodyDecoder | None:
    """Return the decoder for a Content-Encoding header; None where nothing is to be done.

    Raises:
        InvalidResponse: a coding that is not known, or several.
    """
    match content_encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return Inflate(raw_fallback=False)
        case "deflate":
            return Inflate(raw_fallback=True)
    raise InvalidResponse("the body has a content coding that cannot be undone")
