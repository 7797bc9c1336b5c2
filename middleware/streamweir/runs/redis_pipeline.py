"""Commands of many callers over one connection: all that wait leave together.

A command by itself costs its processor time mostly for the trip; in company it costs a fifth. While a batch
is away the next one gathers, and under load for a moment longer, so batches grow with the load; a command
that comes alone leaves at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError, OutOfMemoryError, RedisError, ResponseError

from streamweir.runs.awake_timeout import AwakeTimeout
from streamweir.runs.redis_scripts import Script
from streamweir.runs.store import StoreFull, StoreUnavailable

__all__ = ["BROKEN", "Answered", "CommandPipeline", "StoreHealth", "connect", "packed"]

logger = logging.getLogger("streamweir")

BROKEN: Final = (RedisError, OSError, EOFError, RuntimeError, TypeError, AttributeError)
"""What the client library raises for a connection that broke: uvloop's transports a RuntimeError; its own
parser and writer, once the other side is gone, a TypeError or an AttributeError."""

_RETRY_SECONDS: Final = 0.05
_PACE_SECONDS: Final = 0.001
"""A batch leaves so long after the one before it at the earliest."""

_PROBE_SECONDS: Final = 1.0

_Argument: TypeAlias = str | bytes | int | float

Answered: TypeAlias = Callable[[Any], None]
"""Is given the answer to a command; `StoreUnavailable` or `StoreFull` where there is none."""


class _Command(NamedTuple):
    script: Script
    packed: bytes
    answered: Answered


def packed(words: Sequence[_Argument]) -> bytes:
    """Return a command, or a part of one, as the server reads it; without its head."""
    raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in raw])


async def connect(connection: AbstractConnection) -> None:
    """Connect; raises one of `BROKEN`."""
    opening: Awaitable[None] = connection.connect()  # type: ignore[no-untyped-call]
    await opening


class StoreHealth:
    """Whether the server can be reached; while it cannot, it is tried once a second and nobody waits for it.

    Attributes:
        is_up: it answered when it was last asked.
        on_change: told when that changes.
        on_answer: told how many seconds an answer took.

    Args:
        connect: a new connection, not yet connected.
        timeout: seconds within which the server has to answer.
    """

    def __init__(self, connect: Callable[[], AbstractConnection], timeout: float) -> None:
        self.is_up = True
        self.on_change: Callable[[bool], object] | None = None
        self.on_answer: Callable[[float], object] | None = None
        self._connect: Final = connect
        self._timeout: Final = timeout
        self._probing: asyncio.Task[None] | None = None

    def went_down(self) -> None:
        """Note that the server does not answer, and ask it from time to time."""
        self._set(False)
        if self._probing is None:
            self._probing = asyncio.create_task(self._probe())

    async def aclose(self) -> None:
        """Ask no more."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    async def _probe(self) -> None:
        try:
            while not self.is_up:
                await asyncio.sleep(_PROBE_SECONDS)
                self._set(await self._answers())
        finally:
            self._probing = None

    def answered(self, seconds: float) -> None:
        """Note how long an answer took."""
        if self.on_answer is not None:
            self.on_answer(seconds)

    def _set(self, is_up: bool) -> None:
        self.is_up = is_up
        if self.on_change is not None:
            self.on_change(is_up)

    async def _answers(self) -> bool:
        connection = self._connect()
        try:
            async with asyncio.timeout(self._timeout):
                await connect(connection)
                await connection.send_command("PING")
                await connection.read_response()
        except (*BROKEN, TimeoutError):
            return False
        finally:
            await connection.disconnect(nowait=True)
        return True


class CommandPipeline:
    """Sends commands in the order in which they come and gives each its answer.

    A batch that gets no answer is sent again, over a new connection, until `timeout` is over since it was
    sent first: so every command has to be one that may be done twice.

    Args:
        connect: a new connection, not yet connected.
        health: shared with the other pipelines to the same server.
        timeout: seconds; the time that a command waits for its batch does not count.
        batch: so many commands leave together at most.
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
            StoreFull: the server has no memory for it.
            StoreUnavailable: the server does not answer, or refuses.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        names = packed((len(keys), *keys))
        self.send(script, names, len(keys), arguments, lambda given: _settle(answer, given))
        return await answer

    def send(
        self,
        script: Script,
        names: bytes,
        count: int,
        arguments: Sequence[_Argument],
        answered: Answered,
    ) -> None:
        """Run a script at the server, and do not wait for its answer.

        Args:
            script: it.
            names: of its keys with their number, packed.
            count: their number.
            arguments: of the script.
            answered: is given the answer, perhaps before this returns.
        """
        if not self._health.is_up:
            answered(StoreUnavailable())
            return
        head = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % (3 + count + len(arguments), script.sha.encode())
        self._waiting.append(_Command(script, head + names + packed(arguments), answered))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def aclose(self) -> None:
        """Send nothing more and close the connection."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        await self._disconnect()

    async def _send_all(self) -> None:
        batch: list[_Command] = []
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(self._batch, len(self._waiting)))]
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

    async def _answers_to(self, batch: Sequence[_Command]) -> list[Any]:
        """Return the answers to a batch, the server's errors among them.

        Raises:
            StoreUnavailable: there is no answer within the timeout.
        """
        spent = 0.0
        while True:
            limit = AwakeTimeout(self._timeout / 2)  # so that a lost answer can be asked for again
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
        answers = await self._round_trip([command.packed for command in batch])
        unknown = [i for i, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if unknown:
            scripts = {batch[i].script.text for i in unknown}
            await self._round_trip([b"*3\r\n" + packed(("SCRIPT", "LOAD", text)) for text in scripts])
            again = await self._round_trip([batch[i].packed for i in unknown])
            for i, answer in zip(unknown, again, strict=True):
                answers[i] = answer
        return [_judged(answer) for answer in answers]

    async def _round_trip(self, commands: Sequence[bytes]) -> list[Any]:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
            await connect(connection)
        began = time.monotonic()
        await connection.send_packed_command(b"".join(commands), check_health=False)
        answers = []
        for _ in commands:
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
    except Exception:  # its caller's own, which is no harm to the others
        logger.exception("an answer of the store could not be taken")


def _judged(answer: Any) -> Any:
    """Return an answer of the server as its caller is to have it."""
    if not isinstance(answer, Exception):
        return answer
    is_full = isinstance(answer, OutOfMemoryError) or "OOM " in str(answer)
    return StoreFull() if is_full else StoreUnavailable()


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if isinstance(answer, StoreUnavailable):
        future.set_exception(answer)
    else:
        future.set_result(answer)
