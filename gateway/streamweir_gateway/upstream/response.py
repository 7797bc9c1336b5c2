"""The response of an upstream, with its content codings decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from streamweir.framing.content_coding import (
    BodyDecoder,
    CodedBodyError,
    CutOffBodyError,
    body_decoder,
    unreadable_coding,
)

from .failures import Truncated, UnreadableCoding
from .header_fields import header_fields
from .transport import TransportResponse

__all__ = ["UpstreamResponse"]


_NO_PIECES: Final[Iterator[bytes]] = iter(())
"""An iterator that is over."""

_PIECES_OF_A_TURN: Final = 16
"""The most decoded pieces that are returned without a turn of the event loop: a read of gzip members with a
byte each has thousands.
"""


class UpstreamResponse:
    """The status and headers of a response, and its body read by read.

    Attributes:
        status: the status of the response.
        headers: the headers in the order and the spelling of the wire.
        media_type: the content type in lower case, without parameters; empty if the response has none.
        on_read: called with the decoded bytes of each read before they are returned, and with empty bytes at
            the end of the body. None: no call. Set it before the first read.
        on_relayed: called in place of `on_read` for reads that `relay` has passed on, with the time
            (`time.monotonic()`), the bytes, and the number of events before the read. The relaying function
            calls it.
        error_bytes: the decoded bytes that were read of the body because the status is an error.
        is_whole: whether the body, or the stream in the body, ended properly before the response was closed.
    """

    __slots__ = (
        "_body",
        "_codings",
        "_decoder",
        "_given",
        "_pieces",
        "error_bytes",
        "headers",
        "is_whole",
        "media_type",
        "on_read",
        "on_relayed",
        "status",
    )

    _pieces: Iterator[bytes]
    """The decoded pieces of the last read, if there is a decoder."""
    _given: int
    """The number of pieces that have been returned since the event loop had its turn."""

    def __init__(self, response: TransportResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        fields = header_fields(response.headers) if response.fields is None else response.fields
        self.media_type = fields.media_type
        self._codings = fields.codings
        self.on_read: Callable[[bytes], object] | None = None
        self.on_relayed: Callable[[float, bytes, int], object] | None = None
        self.is_whole = False
        self.error_bytes = 0
        self._body = response.body
        self._decoder: BodyDecoder | None = None

    def read(self) -> Coroutine[Any, Any, bytes]:
        """Return the decoded bytes of one read; empty at the end of the body.

        This is no coroutine function: most reads need none besides that of the body.

        Raises:
            UpstreamFailure: the body broke off, or cannot be decoded.
        """
        if self._codings and self._decoder is None:
            self._begin()
        read = self._body.read() if self._decoder is None else self._read_decoded(self._decoder)
        return read if self.on_read is None else self._read_noted(self.on_read, read)

    def _begin(self) -> None:
        with self._own_failures():
            self._decoder = body_decoder(", ".join(self._codings))
        if self._decoder is None:
            self._codings = ()
        self._pieces = _NO_PIECES
        self._given = 0

    def is_over(self) -> bool:
        """Return whether the body has been read to its proper end, as far as known without another read."""
        return self._decoder is None and self._body.is_over

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Call `take` with each read that arrives, without waking the task, until `take` returns False.

        The caller gets all other bytes by `read`. None is returned if the transport or a coding needs the
        task for each read. This is not a coroutine function, because each stream would keep the coroutine.
        """
        if self._codings:
            return None
        is_noted = self.on_read is None or self.on_relayed is not None
        return self._body.relay(take if is_noted or self.on_read is None else _noting(self.on_read, take))

    def let_end(self) -> None:
        """Note that the stream in the body has ended, so that no more is read.

        When the response is closed, the upstream then has a moment to end it. If the connection were closed
        at once, the upstream would assume that its client has left, and might not finish its work after the
        last event.
        """
        self.is_whole = True
        self._body.let_end()

    def values_of(self, name: str) -> list[bytes]:
        """Return every value of the header `name` (any case)."""
        wanted = name.lower().encode("ascii")
        length = len(wanted)
        return [value for key, value in self.headers if len(key) == length and key.lower() == wanted]

    def abort(self) -> None:
        """Close the connection at once. The body must not be read any longer."""
        self._body.abort()

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Give the connection back if the response has ended; else close the connection."""
        self.is_whole = self.is_whole or self.is_over()
        return self._body.aclose()

    @contextmanager
    def _own_failures(self) -> Iterator[None]:
        try:
            yield
        except CutOffBodyError as error:
            raise Truncated("the compressed body ended early") from error
        except CodedBodyError as error:
            raise UnreadableCoding(unreadable_coding(self._codings)) from error

    @staticmethod
    async def _read_noted(on_read: Callable[[bytes], object], read: Coroutine[Any, Any, bytes]) -> bytes:
        data = await read
        on_read(data)
        return data

    async def _read_decoded(self, decoder: BodyDecoder) -> bytes:
        with self._own_failures():
            while True:
                if self._given >= _PIECES_OF_A_TURN:
                    self._given = 0
                    await asyncio.sleep(0)
                for piece in self._pieces:
                    self._given += 1
                    return piece
                data = await self._body.read()
                if not data:
                    decoder.finish()
                    return b""
                self._pieces = decoder.feed(data)


def _noting(on_read: Callable[[bytes], object], take: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """Return a function that calls `on_read` and then `take`."""

    def noted(data: bytes) -> bool:
        on_read(data)
        return take(data)

    return noted
