"""Finds out whether a response is an agent stream, which is known only after its first frame.

Source: the configuration contract (`relay`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from msgspec.structs import replace

from streamweir.codec.dialects import Dialects
from streamweir.errors import StreamweirError
from streamweir.http.accept import STREAM_FRAMINGS
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader
from streamweir_gateway.relay.quiet_stream import QuietStream
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.transport import ResponseBody, TransportResponse

__all__ = ["Judgement", "judge", "stream_media_types"]

_STREAMS: Final = frozenset(STREAM_FRAMINGS)
_TEXT_FRAMINGS: Final = frozenset({"text", "lines"})


def stream_media_types(speaks: str, dialects: Dialects) -> frozenset[str]:
    """Return the media types that a stream of the dialect may have."""
    if speaks == "auto":
        return _STREAMS
    dialect = dialects.to_read(speaks)
    own = {*dialect.media_types}
    if dialect.framing in _TEXT_FRAMINGS:
        own.add("text/plain")
    if dialect.encoder is not None and dialect.encoder.media_type is not None:
        own.add(dialect.encoder.media_type.partition(";")[0].strip().lower())
    return _STREAMS | own


class _Recorded:
    """A `ResponseBody` that records the bytes that are read from another body."""

    def __init__(self, body: ResponseBody) -> None:
        self.pieces: list[bytes] = []
        self._body = body

    @property
    def is_over(self) -> bool:
        return self._body.is_over

    @property
    def is_ready(self) -> bool:
        return self._body.is_ready

    async def read(self) -> bytes:
        data = await self._body.read()
        if data:
            self.pieces.append(data)
        return data

    def relay(self, _take: Callable[[bytes], bool]) -> None:
        """Return None, because every read has to be recorded."""

    def let_end(self) -> None:
        self._body.let_end()

    def abort(self) -> None:
        self._body.abort()

    async def aclose(self) -> None:
        await self._body.aclose()


class _Replayed:
    """A `ResponseBody` whose beginning has already been read, and is returned again."""

    def __init__(self, pieces: list[bytes], body: ResponseBody) -> None:
        self._pieces = pieces[::-1]
        self._body = body

    @property
    def is_over(self) -> bool:
        return not self._pieces and self._body.is_over

    @property
    def is_ready(self) -> bool:
        return bool(self._pieces) or self._body.is_ready

    async def read(self) -> bytes:
        return self._pieces.pop() if self._pieces else await self._body.read()

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        return None if self._pieces else self._body.relay(take)

    def let_end(self) -> None:
        self._body.let_end()

    def abort(self) -> None:
        self._body.abort()

    async def aclose(self) -> None:
        await self._body.aclose()


class Judgement:
    """The result of reading the first frame.

    Attributes:
        response: the response, from its beginning.
        is_agent_stream: whether the dialect knows the first event.
        pieces: the part of the body that has been read.
    """

    __slots__ = ("is_agent_stream", "pieces", "response")

    def __init__(self, response: TransportResponse, pieces: list[bytes], *, is_agent_stream: bool) -> None:
        self.response = replace(response, body=_Replayed(pieces, response.body))
        self.is_agent_stream = is_agent_stream
        self.pieces = pieces


async def judge(
    response: TransportResponse,
    reader: StreamReader,
    *,
    limit: int,
    on_read: Callable[[], None],
    quiet: Callable[[list[bytes]], QuietStream | None],
) -> Judgement:
    """Read a response until its first event is known, or until it cannot be an agent stream.

    Args:
        response: a response with status 200 and a media type of streams.
        reader: a reader of the upstream's dialect, which is used for this only.
        limit: the most bytes to read in search of the first event.
        on_read: called after each read.
        quiet: returns the sender of the stream's comments, given the list of recorded reads.

    Raises:
        ClientGone: the client has left while comments were sent to it.
    """
    recorded = _Recorded(response.body)
    decoded = UpstreamResponse(replace(response, body=recorded))
    quiet_stream = quiet(recorded.pieces)
    is_known: bool | None = None
    size = 0
    try:
        while is_known is None:
            try:
                data = await decoded.read()
            except UpstreamFailure:  # it broke off, or has a coding that only the client can read
                break
            on_read()
            is_known = _is_known(reader, data)
            size += len(data)
            if is_known is None and quiet_stream is not None:
                size -= await quiet_stream.pass_on()
            if is_known is None and (not data or size > limit):
                break
    finally:
        if quiet_stream is not None:
            await quiet_stream.close()
    return Judgement(response, recorded.pieces, is_agent_stream=bool(is_known))


def _is_known(reader: StreamReader, data: bytes) -> bool | None:
    """Return whether the first event in `data` belongs to the dialect; None while no event has arrived.

    Args:
        data: the bytes of a read; empty at the end of the body. A stream without events is an agent stream
            too.
    """
    try:
        for _ in _events(reader, data):
            return not reader.unknown and not reader.malformed
    except StreamweirError:
        return False
    if reader.malformed:
        return False
    return None if data else reader.complete and not reader.unknown


def _events(reader: StreamReader, data: bytes) -> Iterator[object]:
    yield from events_of(reader.feed(data) if data else reader.close())
