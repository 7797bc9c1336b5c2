"""Sends the commands of many callers over one connection, all waiting commands in one batch.

Most of the processor time of a single command goes to the round trip; in a batch a command costs a fifth.
While one batch is on its way the next one is collected, and at least `_PACE_SECONDS` lie between two batches,
so that batches grow with the load. A single command is sent at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError, OutOfMemoryError, ResponseError

from streamweir.runs.awake_timeout import AwakeTimeout
from streamweir.runs.redis_health import BROKEN, StoreHealth, connect
from streamweir.runs.redis_scripts import Script
from streamweir.runs.store import StoreFull, StoreUnavailable, UnreadableValue

__all__ = ["Answered", "CommandPipeline", "packed"]

logger = logging.getLogger("streamweir")

_RETRY_SECONDS: Final = 0.05
_PACE_SECONDS: Final = 0.001
"""The shortest time between the starts of two batches."""

_BATCH_BYTES: Final = 4 << 20
"""The most bytes of a batch, which the server has to read within the timeout."""

_Argument: TypeAlias = str | bytes | int | float

Answered: TypeAlias = Callable[[Any], None]
"""Called once with the answer to a command, or with a `StoreUnavailable` or `StoreFull`."""


class _Command(NamedTuple):
    """A call of a script, or plain commands that one caller sends at once.

    Attributes:
        script: the script that is called; None for plain commands.
        packed: the command in the wire format.
        answered: gets the answer of the script, or the list of the answers to the plain commands.
        replies: the number of answers of the server.
    """

    script: Script | None
    packed: bytes
    answered: Answered
    replies: int = 1


def packed(words: Sequence[_Argument]) -> bytes:
    """Return the words of a command in the wire format, without the line that gives their number."""
    raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in raw])


class CommandPipeline:
    """Sends commands in order and returns their answers.

    A batch without an answer is sent again over a new connection, until `timeout` has passed since it was
    first sent. Every command therefore has to be idempotent.

    Args:
        connect: returns a new connection, not yet connected.
        health: shared with the other pipelines to the same server.
        timeout: seconds from the first sending of a batch.
        batch: the most commands of a batch, unless one caller sends more commands at once.
    """

    def __init__(
        self, connect: Callable[[], AbstractConnection], health: StoreHealth, *, timeout: float, batch: int
    ) -> None:
        self._connect: Final = connect
        self._health: Final = health
        self._timeout: Final = timeout
        self._batch: Final = batch
        self._connection: AbstractConnection | None = None
        self._waiting: deque[_Command] = deque()
        self._sending: asyncio.Task[None] | None = None

    async def call(self, script: Script, keys: Sequence[str], *arguments: _Argument) -> Any:
        """Run a script at the server and return its answer.

        Raises:
            StoreFull: the server has no memory for the script's data.
            StoreUnavailable: the server does not answer, or refuses the script.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        names = packed((len(keys), *keys))
        self.send(script, names, len(keys), arguments, lambda given: _resolve(answer, given))
        return await answer

    async def call_commands(self, commands: Sequence[Sequence[_Argument]]) -> list[Any]:
        """Run plain commands in one round trip and return their answers.

        The answer to a command on a value of another type is an `UnreadableValue`.

        Raises:
            StoreFull: the server has no memory for one of them.
            StoreUnavailable: the server does not answer, or refuses one of them.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        raw = b"".join([b"*%d\r\n%b" % (len(words), packed(words)) for words in commands])
        self._queue(_Command(None, raw, lambda given: _resolve(answer, given), len(commands)))
        answers: list[Any] = await answer
        for given in answers:
            if isinstance(given, StoreUnavailable) and not isinstance(given, UnreadableValue):
                raise given
        return answers

    def send(
        self, script: Script, names: bytes, count: int, arguments: Sequence[_Argument], answered: Answered
    ) -> None:
        """Run a script at the server without waiting for the answer.

        Args:
            script: the script to run.
            names: the number and the names of its keys, packed.
            count: the number of its keys.
            arguments: the arguments of the script.
            answered: called with the answer, possibly before this returns.
        """
        if not self._health.is_up:
            answered(StoreUnavailable())
            return
        head = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % (3 + count + len(arguments), script.sha.encode())
        self._queue(_Command(script, head + names + packed(arguments), answered))

    def _queue(self, command: _Command) -> None:
        if not self._health.is_up:
            command.answered(StoreUnavailable())
            return
        self._waiting.append(command)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def aclose(self) -> None:
        """Close the connection, and send no more commands."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        await self._disconnect()

    async def _send_all(self) -> None:
        batch: list[_Command] = []
        try:
            while self._waiting:
                batch = self._next_batch()
                began = time.monotonic()
                answers = await self._answers_to(batch)
                sent, batch = batch, []
                for command, answer in zip(sent, answers, strict=True):
                    _give(command, answer)
                await asyncio.sleep(began + _PACE_SECONDS - time.monotonic())
        except StoreUnavailable:
            self._health.went_down()
        finally:
            self._sending = None
            lost = [*batch, *self._waiting]
            self._waiting.clear()
            for command in lost:
                _give(command, StoreUnavailable())

    def _next_batch(self) -> list[_Command]:
        batch = [self._waiting.popleft()]
        size, count = len(batch[0].packed), batch[0].replies
        while self._waiting:
            size += len(self._waiting[0].packed)
            count += self._waiting[0].replies
            if size > _BATCH_BYTES or count > self._batch:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _answers_to(self, batch: Sequence[_Command]) -> list[Any]:
        """Return the answers to a batch; an error of the server is the answer to its command.

        Raises:
            StoreUnavailable: there was no answer within the timeout.
        """
        spent = 0.0
        while True:
            limit = AwakeTimeout(
                self._timeout / 2
            )  # a lost answer can be asked for once more within the timeout
            try:
                async with limit:
                    return await self._exchange(batch)
            except (*BROKEN, TimeoutError) as error:
                await self._disconnect()
                spent += limit.spent + _RETRY_SECONDS
                if spent >= self._timeout:
                    raise StoreUnavailable from error
            except BaseException:
                await self._disconnect()
                raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def _exchange(self, batch: Sequence[_Command]) -> list[Any]:
        answers = await self._round_trip_of(batch)
        unknown = [i for i, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if unknown:
            scripts = {script.text for i in unknown if (script := batch[i].script) is not None}
            loads = [b"*3\r\n" + packed(("SCRIPT", "LOAD", text)) for text in scripts]
            await self._round_trip(loads, len(loads))
            again = await self._round_trip_of([batch[i] for i in unknown])
            for i, answer in zip(unknown, again, strict=True):
                answers[i] = answer
        return [_answer_of(answer) for answer in answers]

    async def _round_trip_of(self, batch: Sequence[_Command]) -> list[Any]:
        """Send a batch and return the answer to each command; for plain commands a list."""
        counts = [command.replies for command in batch]
        flat = iter(await self._round_trip([command.packed for command in batch], sum(counts)))
        return [
            next(flat)
            if command.script is not None
            else [_answer_of(next(flat)) for _ in range(command.replies)]
            for command in batch
        ]

    async def _round_trip(self, commands: Sequence[bytes], count: int) -> list[Any]:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
            await connect(connection)
        began = time.monotonic()
        await connection.send_packed_command(b"".join(commands), check_health=False)
        answers = []
        for _ in range(count):
            try:
                answers.append(await connection.read_response())
            except ResponseError as error:
                answers.append(error)
        self._health.answered(time.monotonic() - began)
        return answers

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)


def _give(command: _Command, answer: Any) -> None:
    try:
        command.answered(answer)
    except Exception:  # a fault of its caller, which must not fail the other commands
        logger.exception("an answer of the store could not be taken")


def _answer_of(answer: Any) -> Any:
    """Return an answer; for an error of the server, return the exception that the caller gets."""
    if not isinstance(answer, Exception):
        return answer
    if "WRONGTYPE" in str(answer):
        return UnreadableValue()
    is_full = isinstance(answer, OutOfMemoryError) or "OOM " in str(answer)
    return StoreFull() if is_full else StoreUnavailable()


def _resolve(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if isinstance(answer, StoreUnavailable):
        future.set_exception(answer)
    else:
        future.set_result(answer)
