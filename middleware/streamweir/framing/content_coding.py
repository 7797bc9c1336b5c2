"""Undoes the content coding of a body piece by piece, with bounded output.

Supported are gzip, deflate, and br if a brotli package that can bound its output is installed (brotli or
brotlicffi, 1.2 or later). Source: RFC 9110, section 8.4.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final, Protocol

from streamweir.errors import ErrorInfo, ProtocolError, error_info

__all__ = ["BodyDecoder", "CodedBodyError", "CutOffBodyError", "body_decoder", "unreadable_coding"]

PIECE: Final = 256 << 10
"""The most decoded bytes of one piece: a few bytes can unpack to a thousand times as many."""

INFLATE_INPUT: Final = 16 << 10
"""The most coded bytes per call of zlib, which copies all bytes after the end of a gzip member."""

MAX_EMPTY_MEMBERS: Final = 1000
"""The most empty gzip members in a row. Each has 20 bytes and takes as much time as a page of text."""

_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS


class CodedBodyError(ProtocolError):
    """A body is not in the coding that its headers name, or the coding is unknown."""

    code = "UPSTREAM_INVALID_RESPONSE"

    @property
    def info(self) -> ErrorInfo:
        """The failure that is reported to the client."""
        return error_info(self.code)


class CutOffBodyError(CodedBodyError):
    """A body ended in the middle of its coded data."""

    code = "UPSTREAM_TRUNCATED"


class BodyDecoder(Protocol):
    """Undoes one content coding: coded bytes in, decoded pieces out."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes of `data`, in bounded pieces; exhaust the iterator before the next call.

        Raises:
            CodedBodyError: the bytes are not in this coding.
        """

    def finish(self) -> None:
        """Note the end of the body.

        Raises:
            CutOffBodyError: the body ends in the middle of the coded data.
        """


class Inflate:
    """Undoes gzip (one or more members) and deflate (with zlib's wrapper, or without as some send it)."""

    def __init__(self, *, raw_fallback: bool) -> None:
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._header: bytes | None = b"" if raw_fallback else None
        """The first byte of a possible zlib header, which has two bytes."""
        self._begun = False
        self._empty_members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the unpacked bytes of `data`."""
        for start in range(0, len(data), INFLATE_INPUT):
            yield from self._feed(data[start : start + INFLATE_INPUT])

    def _feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate.eof:
                if data[0] == 0 and not data.strip(b"\0"):  # padding after the last member
                    return
                self._begin_member()
            piece = self._decompress(data)
            self._begun = True
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if piece:
                self._empty_members = 0
                yield piece

    def _begin_member(self) -> None:
        self._empty_members += 1
        if self._empty_members > MAX_EMPTY_MEMBERS:
            raise CodedBodyError("the compressed body has no data")
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    def finish(self) -> None:
        """Check that the last member is whole."""
        if self._begun and not self._inflate.eof:
            raise CutOffBodyError("the compressed body ended early")

    def _decompress(self, data: bytes) -> bytes:
        header, self._header = self._header, None
        try:
            piece = self._inflate.decompress(data, PIECE)
        except zlib.error as error:
            if header is None:
                raise CodedBodyError("the compressed body is corrupt") from error
            self._inflate = zlib.decompressobj(_RAW_DEFLATE)
            return self._decompress(header + data)
        if header is not None and len(header) + len(data) < 2:
            self._header = header + data
        return piece


class Brotli:
    """Undoes br.

    Args:
        brotli: a module for which `_bounds_output` holds.
    """

    def __init__(self, brotli: Any) -> None:
        self._inflate = brotli.Decompressor()
        self._error: type[Exception] = brotli.error
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the unpacked bytes of `data`."""
        self._begun = self._begun or bool(data)
        try:
            yield from self._pieces(data)
        except self._error as error:
            raise CodedBodyError("the compressed body is corrupt") from error

    def finish(self) -> None:
        """Check that the body is whole."""
        if self._begun and not self._inflate.is_finished():
            raise CutOffBodyError("the compressed body ended early")

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data or not self._inflate.is_finished():
            piece = self._inflate.process(data, output_buffer_limit=PIECE)
            data = b""
            if piece:
                yield piece
            elif self._inflate.can_accept_more_data():
                return


def body_decoder(content_encoding: str) -> BodyDecoder | None:
    """Return the decoder for a Content-Encoding header; None if the body is not coded.

    Raises:
        CodedBodyError: the coding is unknown, or there are several.
    """
    match content_encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return Inflate(raw_fallback=False)
        case "deflate":
            return Inflate(raw_fallback=True)
        case "br" if (brotli := _brotli()) is not None:
            return Brotli(brotli)
    raise CodedBodyError("the body has a content coding that cannot be undone")


def unreadable_coding(codings: Iterable[str]) -> str:
    """Return a hint for the operator about a body whose content coding cannot be undone."""
    named = ", ".join(coding for coding in codings if coding.isalnum())[:40]
    return f"the body's coding cannot be read ({named}): ask the upstream for identity, gzip or deflate"


def _brotli() -> Any:
    """Return the first installed brotli package that bounds its output; None if there is none."""
    for name in ("brotli", "brotlicffi"):
        try:
            module = import_module(name)
        except ImportError:
            continue
        if _bounds_output(module):
            return module
    return None


def _bounds_output(module: Any) -> bool:
    """Return whether a brotli package bounds its output: before 1.2 a kilobyte can unpack to a gigabyte."""
    return hasattr(getattr(module, "Decompressor", None), "can_accept_more_data")
