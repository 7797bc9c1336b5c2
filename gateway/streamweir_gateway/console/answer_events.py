"""Gives the page of the console the standard events of answers that the playground relays.

The playground relays an answer byte for byte, in the protocol that was asked for. To show the answer as a
message, the page asks for its events before it sends the request, with the id that the request will have:

    state      entered by                              next state
    ────────   ─────────────────────────────────────   ───────────
    expected   `expect`                                read, left
    read       the answer begins (`reader`)            ended, left
    ended      the answer has ended (`AnswerReader`)   left
    left       the viewer leaves, or has all events    —
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

from streamweir import Translator
from streamweir.codec.dialects import Dialects

__all__ = ["AnswerEvents", "AnswerReader", "ExpectedAnswer"]

MAX_EXPECTED: Final = 32
"""The most answers that are expected or read at the same time."""
MAX_WAITING: Final = 16 << 20
"""The most bytes of events that wait for a viewer. Later events are left out."""


class ExpectedAnswer:
    """Hands the events of one answer to the viewer that expects them.

    Args:
        protocol: the protocol of the answer.

    Attributes:
        protocol: the protocol of the answer.
        is_read: whether the answer has begun.
    """

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.is_read = False
        self._news = asyncio.Event()
        self._waiting = bytearray()
        self._has_ended = False

    def put(self, events: bytes) -> None:
        """Add events, one per line."""
        if len(self._waiting) + len(events) <= MAX_WAITING:
            self._waiting += events
            self._news.set()

    def end(self) -> None:
        """Note that no more events follow."""
        self._has_ended = True
        self._news.set()

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Yield the events that have arrived since the last batch, one per line, until the answer ends."""
        while not self._has_ended or self._waiting:
            await self._news.wait()
            self._news.clear()
            events, self._waiting = bytes(self._waiting), bytearray()
            yield events.splitlines()


class AnswerReader:
    """Reads one answer as standard events.

    Args:
        answer: takes the events.
        dialects: used to look up the protocol of the answer.
    """

    def __init__(self, answer: ExpectedAnswer, dialects: Dialects) -> None:
        self._answer = answer
        self._translator = Translator(
            speaks=answer.protocol, answers="standard", framing="ndjson", dialects=dialects
        )

    def feed(self, data: bytes) -> None:
        """Translate bytes of the answer."""
        self._answer.put(self._translator.feed(data))

    def close(self) -> None:
        """Note that the answer has ended."""
        self._answer.put(self._translator.close())
        self._answer.end()


class AnswerEvents:
    """The answers whose events a viewer expects, by request id."""

    def __init__(self) -> None:
        self._expected: dict[str, ExpectedAnswer] = {}

    def __len__(self) -> int:
        return len(self._expected)

    @contextmanager
    def expect(self, request_id: str, protocol: str) -> Iterator[ExpectedAnswer]:
        """Return a context manager in whose block the answer to a request is expected."""
        answer = self._expected[request_id] = ExpectedAnswer(protocol)
        try:
            yield answer
        finally:
            if self._expected.get(request_id) is answer:
                del self._expected[request_id]

    def reader(self, request_id: str | None, dialects: Dialects) -> AnswerReader | None:
        """Return a reader for the answer to a request; None if no viewer expects its events."""
        answer = self._expected.get(request_id or "")
        if answer is None or answer.is_read:
            return None
        answer.is_read = True
        return AnswerReader(answer, dialects)
