"""The console's end of the links to the serving processes."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec

from streamweir_gateway.console.capture_payload import CapturePayload
from streamweir_gateway.console.link_messages import Answer, Ask, Hello, Rows, Watch, framed, read_message
from streamweir_gateway.console.row import Row, row_of
from streamweir_gateway.console.row_book import RowBook

__all__ = ["WorkerLinks"]

ANSWER_SECONDS: Final = 5.0
"""The seconds within which the answer about one stream has to arrive."""
FRESH_SECONDS: Final = 0.25
"""The seconds for which a listing waits for changes of open rows; a process may hang."""


class WorkerLinks:
    """Takes rows from serving processes, and asks them questions.

    Args:
        path: the path of the Unix socket.
        book: gets the rows.
    """

    def __init__(self, path: str, book: RowBook) -> None:
        self._path = path
        self._book = book
        self._workers: dict[int, asyncio.StreamWriter] = {}
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self._is_watching = False
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Accept the connections of serving processes."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self._server = await asyncio.start_unix_server(self._follow, path=self._path)
        os.chmod(self._path, 0o600)

    def watch(self, is_on: bool) -> None:
        """Tell the serving processes whether to send changes of open rows as they happen."""
        if is_on != self._is_watching:
            self._is_watching = is_on
            for writer in self._workers.values():
                writer.write(framed(Watch(is_on)))

    async def refresh(self) -> None:
        """Wait until each serving process has sent the changes of its open rows, or `FRESH_SECONDS`."""
        if not self._is_watching:
            await self._ask_all("rows", FRESH_SECONDS)

    async def upstreams(self) -> list[list[dict[str, Any]]]:
        """Return the states of the upstreams, one list for each serving process."""
        return [found for found in await self._ask_all("upstreams", FRESH_SECONDS) if found is not None]

    async def capture(self, row: Row, start: int = 0) -> CapturePayload | None:
        """Return the facts of a stream and its log from entry `start` on; None if they are not kept.

        Raises:
            TimeoutError: the process that served the stream does not answer now.
        """
        writer = self._workers.get(row.worker)
        if writer is None:
            return None
        answer = await self._ask(writer, ANSWER_SECONDS, "capture", row.id, start)
        return None if answer is None else msgspec.convert(answer, CapturePayload)

    async def _ask_all(self, topic: Literal["rows", "upstreams"], seconds: float) -> list[Any]:
        return await asyncio.gather(
            *(self._ask_briefly(writer, seconds, topic) for writer in tuple(self._workers.values()))
        )

    async def _ask_briefly(
        self, writer: asyncio.StreamWriter, seconds: float, topic: Literal["rows", "upstreams"]
    ) -> Any:
        """Return the answer; None if it does not come in time."""
        with suppress(TimeoutError):
            return await self._ask(writer, seconds, topic)
        return None

    async def _ask(
        self,
        writer: asyncio.StreamWriter,
        seconds: float,
        topic: Literal["rows", "capture", "upstreams"],
        row_id: str = "",
        start: int = 0,
    ) -> Any:
        self._count += 1
        number = self._count
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        writer.write(framed(Ask(number, topic, row_id, start)))
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            del self._answers[number]

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        worker = 0
        try:
            hello = await read_message(reader, "worker")
            if not isinstance(hello, Hello):
                return
            worker = hello.worker
            if worker in self._workers:  # the process before it, which ended without closing
                self._workers.pop(worker).close()
                self._book.lose(worker)
            self._workers[worker] = writer
            if self._is_watching:
                writer.write(framed(Watch(True)))
            while True:
                self._take(worker, await read_message(reader, "worker"))
        except (OSError, asyncio.IncompleteReadError, msgspec.MsgspecError):
            pass
        finally:
            writer.close()
            if self._workers.get(worker) is writer:
                del self._workers[worker]
                self._book.lose(worker)

    def _take(self, worker: int, message: Hello | Rows | Answer) -> None:
        match message:
            case Rows():
                self._take_rows(worker, message)
            case Answer(number=number, content=content):
                answer = self._answers.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(content)
            case _:
                pass

    def _take_rows(self, worker: int, message: Rows) -> None:
        for row in message.rows:
            self._book.put(row_of(row, worker))
        if message.count or message.gone:
            self._book.put_ended(worker, message.ended, message.count, message.gone)
        if self._is_watching:
            self._book.decode()
