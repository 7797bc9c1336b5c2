"""Reads an upstream's response and translates it. The work in each turn of the event loop is bounded."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.parts import WHOLE_BYTES, ReadParts
from streamweir_gateway.requests.offers import NO_OFFER, Offer
from streamweir_gateway.runs.kept_answer import kept_answer
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["StreamReading"]

_MARK_SECONDS: Final = 0.05
_LONGEST_MARK: Final = 64
_MARK: Final = re.compile(rb"\s*data: ?\[DONE\]\s*")


class StreamReading:
    """Translates one response, read by read.

    Attributes:
        is_clean: whether the body has ended properly.
        kept: stores the answer before the client can go on; None if nothing of it is stored.

    Args:
        stream: translates the reads.
        context: the context of the request.
        offer: the request that is answered.
        ends_at_once: whether the stream ends at the evidence of its end even if its frames are copied,
            because the connection to the upstream stays open after it. If a tap of the offer stores the
            answer, the stream always ends at the evidence: its last frame waits in the sink until the answer
            is stored.
    """

    __slots__ = (
        "_audience",
        "_clock",
        "_ends_at_once",
        "_on_relayed",
        "_parts",
        "_position",
        "_record",
        "_rest_is_over",
        "_stream",
        "_supervisor",
        "is_clean",
        "kept",
    )

    def __init__(
        self,
        stream: StreamNormalizer,
        context: RequestContext,
        offer: Offer,
        *,
        ends_at_once: bool = False,
    ) -> None:
        self.is_clean = False
        self.kept = kept = None if offer is NO_OFFER else kept_answer(offer, stream)
        self._stream = stream
        self._position = stream.pipeline.position
        self._audience = context.audience
        self._record = context.record
        self._supervisor = supervisor = context.supervisor
        self._clock = supervisor.clock
        self._ends_at_once = ends_at_once or (kept is not None and kept.holds_end)
        self._on_relayed: Callable[[float, bytes, int], object] | None = None
        self._parts: ReadParts | None = None
        """The part of a read that is left for later turns of the event loop; None if no part is left."""
        self._rest_is_over = False
        """Whether the body ends properly with `_parts`."""

    def begin_with(self, data: bytes, *, is_over: bool) -> None:
        """Translate the bytes that were read earlier in order to classify the response.

        Args:
            data: the bytes.
            is_over: whether the bytes are the whole body.
        """
        self._parts, self._rest_is_over = ReadParts(data), is_over

    def take_back(self) -> tuple[bytes, bool]:
        """Take back and return the arguments of `begin_with`, before any byte is translated."""
        parts, self._parts = self._parts, None
        return b"" if parts is None else parts.rest, self._rest_is_over

    async def read_rest(self) -> None:
        """Translate all bytes that were read and not translated yet, without reading more."""
        while self._parts is not None:
            self._feed(b"")
            await asyncio.sleep(0)

    def read(self, response: UpstreamResponse, *, is_committed: bool) -> Awaitable[bytes | None]:
        """Return an awaitable of the next read, for `translate`; of None if all reads have been delivered.

        This is no coroutine function: a read before the first output needs only the coroutine of the body.

        Args:
            response: the response of the upstream.
            is_committed: whether the first output has arrived. If so, reads that need no task are delivered
                first, before the read that is returned.
        """
        if is_committed or self._parts is not None:
            return self._read_after_others(response, is_committed=is_committed)
        return response.read()

    async def _read_after_others(self, response: UpstreamResponse, *, is_committed: bool) -> bytes | None:
        """Return the next read after those that need no task; no bytes if a part of a read is left."""
        if self._parts is not None:
            await asyncio.sleep(0)
            return b""
        if is_committed and (relaying := response.relay(self._relay_at_once)) is not None:
            self._on_relayed = response.on_relayed
            await relaying
            if self._position.ended or self._has_unsent or self._parts is not None:
                return None
        return await response.read()

    def translate(self, data: bytes | None, response: UpstreamResponse, *, is_chosen: bool) -> None:
        """Translate a read, or the next part of the read before it.

        Args:
            data: the result of `read`.
            response: the response of the upstream.
            is_chosen: whether the first event has arrived, so that reads are noted in the record.
        """
        if data is None:
            return
        if self._parts is None:
            self.is_clean = not data
        if self._supervisor.stop is not None:
            return
        written = self._position.written
        if self._feed(data) and (self.is_clean or self._rest_is_over or response.is_over()):
            self.is_clean = True
            self._stream.close()
        if is_chosen and self._position.written != written:
            self._record.note_read(time.monotonic())

    async def read_mark(self, response: UpstreamResponse) -> None:
        """Copy a `[DONE]` that follows an end which is held back until the answer is stored.

        The client gets the end after this, so a body that stays silent is waited for only briefly.
        """
        if self.is_clean or response.is_over() or not self._stream.pipeline.copies_frames:
            return
        held = b""
        with suppress(TimeoutError, UpstreamFailure):
            async with asyncio.timeout(_MARK_SECONDS):
                while len(held) <= _LONGEST_MARK and (data := await response.read()):
                    held += data
        if _MARK.fullmatch(held):
            self._stream.copy_mark(held)

    @property
    def _has_unsent(self) -> bool:
        """Whether bytes wait: the client has to take earlier bytes, or the answer has to be stored first."""
        return self._audience.has_unsent or (self.kept is not None and self.kept.is_due)

    def _feed(self, data: bytes) -> bool:
        """Translate the part of a read that is left, else `data`, as far as one turn of the loop allows.

        Return False if a part is left.
        """
        if self._parts is None and len(data) <= WHOLE_BYTES:
            if data:
                self._stream.feed(data)
            is_done = True
        else:
            parts = ReadParts(data) if self._parts is None else self._parts
            is_done = parts.feed(self._stream.feed)
            self._parts = None if is_done else parts
        if self._ends_at_once:
            self._stream.push_held_end()
        return is_done

    def _relay_at_once(self, data: bytes) -> bool:
        """Deliver one read while the task keeps waiting. Return False if the task has to wake up."""
        position = self._position
        written = position.written
        if len(data) <= WHOLE_BYTES:
            self._stream.feed(data)
            if self._ends_at_once:
                self._stream.push_held_end()
        else:
            self._feed(data)
        now = time.monotonic()
        self._clock.last_read = now
        if position.written != written:
            self._record.note_read(now)
        must_wake = position.ended or (self.kept is not None and self.kept.is_due)
        has_sent = not must_wake and self._audience.send_at_once(now)
        if self._on_relayed is not None:
            self._on_relayed(now, data, written)
        return has_sent and self._parts is None
