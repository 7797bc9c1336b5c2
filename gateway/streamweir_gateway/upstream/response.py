"""The response of an upstream, its content codings undone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from streamweir.framing.content_coding import (
    BodyDecoder,
    CodedBodyError,
    CutOffBodyError,
    body_decoder,
    unreadable_coding,
)

from .failures import Truncated, UnreadableCoding
from .http1 import coding_list
from .transport import TransportResponse

__all__ = ["UpstreamResponse"]


class UpstreamResponse:
    """The status and headers of a response, and its body read by read.

    Attributes:
        status: the status of the response.
        headers: in the order and the spelling of the wire.
        on_read: is called with each read, decoded, before it is returned; nothing at the end of the body.
            None: nothing is called. Set before the first read.
        on_relayed: takes reads of `relay` in place of `on_read`, once they have been relayed: the time
            (`time.monotonic`), the size, the number of events before. The function that relays calls it.
        is_whole: the body came to its proper end before the response was closed, or its stream did.
    """

    def __init__(self, response: TransportResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.on_read: Callable[[bytes], object] | None = None
        self.on_relayed: Callable[[float, int, int], object] | None = None
        self.is_whole = False
        self._body = response.body
        self._is_begun = False
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())

    async def read(self) -> bytes:
        """Return the bytes of one read, decoded; nothing at the end of the body.

        Raises:
            UpstreamFailure: the body is not whole, or cannot be decoded.
        """
        data = await self._read()
        if self.on_read is not None:
            self.on_read(data)
        return data

    async def _read(self) -> bytes:
        if not self._is_begun:
            self._is_begun = True
            if codings := self._codings():
                with self._own_failures():
                    self._decoder = body_decoder(", ".join(codings))
        if self._decoder is not None:
            with self._own_failures():
                return await self._read_decoded(self._decoder)
        return await self._body.read()

    @property
    def is_over(self) -> bool:
        """The body has been read to its proper end, as far as that is known before the next read."""
        return self._decoder is None and self._body.is_over

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Let `take` have each read that comes, without waking the task, until it returns False.

        Bytes that `take` was not given are for `read`. None if the transport or a coding needs the task
        for each read. This is not a coroutine: every stream would have to keep it.
        """
        if not self._is_begun or self._decoder is not None:
            return None
        is_noted = self.on_read is None or self.on_relayed is not None
        return self._body.relay(take if is_noted or self.on_read is None else _noting(self.on_read, take))

    def let_end(self) -> None:
        """The stream in the body has said that it is over: nothing more is read.

        Leaving then gives the upstream a moment to end its response. Cut off at once, it would take its
        client for gone, and might not finish what it does after its last event.
        """
        self.is_whole = True
        self._body.let_end()

    def values_of(self, name: str) -> list[bytes]:
        """Return every value of the header `name` (any case)."""
        wanted = name.lower().encode("ascii")
        length = len(wanted)
        return [value for key, value in self.headers if len(key) == length and key.lower() == wanted]

    def abort(self) -> None:
        """Close the connection at once; nothing may be read any longer."""
        self._body.abort()

    async def aclose(self) -> None:
        """Give the connection back, or close it where the response has not come to its end."""
        self.is_whole = self.is_whole or self.is_over
        await self._body.aclose()

    def _codings(self) -> list[str]:
        content = coding_list(self.headers, b"content-encoding")
        transfer = coding_list(self.headers, b"transfer-encoding")
        return content if transfer in ([], ["chunked"]) else [*content, *_unchunked(transfer)]

    @contextmanager
    def _own_failures(self) -> Iterator[None]:
        try:
            yield
        except CutOffBodyError as error:
            raise Truncated("the compressed body ended early") from error
        except CodedBodyError as error:
            raise UnreadableCoding(unreadable_coding(self._codings())) from error

    async def _read_decoded(self, decoder: BodyDecoder) -> bytes:
        while True:
            for piece in self._pieces:
                return piece
            data = await self._body.read()
            if not data:
                decoder.finish()
                return b""
            self._pieces = decoder.feed(data)


def _unchunked(codings: Iterable[str]) -> list[str]:
    return [coding for coding in codings if coding != "chunked"]


def _noting(on_read: Callable[[bytes], object], take: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """Return `take` with a call of `on_read` before it."""

    def noted(data: bytes) -> bool:
        on_read(data)
        return take(data)

    return noted
