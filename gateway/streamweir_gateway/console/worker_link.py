"""The end of the link to the console that is in a serving process.

A serving process never waits for the console: a limited number of rows waits while there is no connection,
and answers are written without waiting. If the connection is lost, it is made again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from streamweir_gateway.console.capture_payload import payload_of
from streamweir_gateway.console.link_messages import (
    Answer,
    Ask,
    Hello,
    Rows,
    Watch,
    framed,
    packed_rows,
    read_message,
)
from streamweir_gateway.console.masking_queue import mask_now
from streamweir_gateway.console.stream_rows import MOST_COLLECTED, StreamRows

__all__ = ["WorkerLink"]

logger = logging.getLogger("streamweir.server")

RETRY_SECONDS: Final = 0.05
"""The seconds after which a lost connection is made again."""
HELD_SECONDS: Final = 1.5
"""The seconds for which the end of a line is waited for, because a secret may continue in it."""
MASK_SECONDS: Final = 2.0
"""The most seconds for which one answer is masked. The console asks again for a capture that takes longer."""
FLUSH_SECONDS: Final = 0.12
"""The seconds for which changes are collected while a viewer watches the rows."""
QUIET_SECONDS: Final = 0.5
"""The seconds for which changes are collected while no viewer watches. A request for rows ends this wait."""
WATCH_SECONDS: Final = 0.2
"""The seconds between two messages with changes of open rows, while a viewer watches."""
MAX_UNSENT: Final = 8 << 20
"""The unsent bytes beyond which a console that does not read gets no changes of open rows."""
LAST_SECONDS: Final = 1.0
"""The longest time in seconds that an ending process waits for the console to take the last rows."""


class WorkerLink:
    """Sends rows to the console, and answers its questions.

    Args:
        path: the path of the console's Unix socket.
        worker: the number of this process.
        rows: the rows of this process.
        upstreams: returns the states of the upstreams.
    """

    def __init__(
        self, path: str, worker: int, rows: StreamRows, upstreams: Callable[[], list[dict[str, Any]]]
    ) -> None:
        self._path = path
        self._worker = worker
        self._rows = rows
        self._upstreams = upstreams
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._watch_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Connect to the console. Must be called in the event loop."""
        self._rows.on_change = self._note_change
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        """Send the last rows, and close the connection."""
        self._rows.on_change = _nothing
        if self._task is not None:
            self._task.cancel()
        writer = self._writer
        if writer is not None:
            self._send_rows(with_open=False)
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()

    async def _run(self) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, msgspec.MsgspecError):
                reader, self._writer = await asyncio.open_unix_connection(self._path)
                await self._follow(reader, self._writer)
            self._stop_watching()
            self._writer = None
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(framed(Hello(self._worker, os.getpid())))
            self._send_rows(with_open=False)
            writer.write(framed(Rows(self._rows.open_rows(), packed_rows([]), 0, [])))
            while True:
                match await read_message(reader, "console"):
                    case Watch(is_on=is_on):
                        self._stop_watching()
                        if is_on:
                            self._watch()
                    case Ask(topic="capture") as ask:
                        self._start_answer(ask)
                    case Ask() as ask:
                        self._answer(ask)
        finally:
            writer.close()

    def _note_change(self) -> None:
        if self._writer is None:
            return
        if self._rows.ended_count >= MOST_COLLECTED:
            self._send_rows(with_open=False)
        elif self._flush_timer is None:
            seconds = QUIET_SECONDS if self._watch_timer is None else FLUSH_SECONDS
            self._flush_timer = asyncio.get_running_loop().call_later(seconds, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        self._send_rows(with_open=False)
        if self._rows.has_new:
            self._note_change()

    def _watch(self) -> None:
        self._send_rows(with_open=True)
        self._watch_timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def _stop_watching(self) -> None:
        if self._watch_timer is not None:
            self._watch_timer.cancel()
            self._watch_timer = None

    def _send_rows(self, *, with_open: bool) -> None:
        writer = self._writer
        if writer is None or writer.is_closing():
            return
        is_stuck = writer.transport.get_write_buffer_size() > MAX_UNSENT
        if is_stuck:
            return
        changes = self._rows.take(with_open=with_open)
        if any(changes):
            rows, ended, gone = changes
            writer.write(framed(Rows(rows, packed_rows(ended), len(ended), gone)))

    def _answer(self, ask: Ask) -> None:
        content: Any = None
        if ask.topic == "rows":
            self._send_rows(with_open=True)
        elif ask.topic == "upstreams":
            content = self._upstreams()
        self._send_answer(ask, content)

    def _start_answer(self, ask: Ask) -> None:
        task = asyncio.get_running_loop().create_task(self._answer_with_capture(ask))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer_with_capture(self, ask: Ask) -> None:
        """Answer a question with the log of a stream, after its secrets are masked."""
        content = None
        if (capture := self._rows.find(ask.row_id)) is not None:
            await mask_now(capture.masking, HELD_SECONDS, MASK_SECONDS)
            content = payload_of(capture, ask.start)
        self._send_answer(ask, content)

    def _send_answer(self, ask: Ask, content: Any) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(framed(Answer(ask.number, content)))


def _nothing() -> None:
    return
