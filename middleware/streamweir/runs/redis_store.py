"""Runs in Redis or Valkey, for all workers and replicas.

Every operation is one idempotent script at the server, with times of the server's clock. Names consist of the
prefix, hex digests and fixed words. A store has three connections, however many runs and readers there are:
one for commands that change runs, one for pages of events and for values (a large one would delay an append),
and one for subscriptions.

Redis 6.2, Valkey 7.2 or later.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.exceptions import RedisError

from streamweir.errors import ConfigurationError, StreamweirError
from streamweir.options.durations import Duration, parse_duration
from streamweir.options.run_defaults import STORE_LEASE, STORE_PREFIX, STORE_TIMEOUT
from streamweir.runs import redis_scripts as scripts
from streamweir.runs.eager_append import Stored
from streamweir.runs.redis_health import StoreHealth
from streamweir.runs.redis_pipeline import CommandPipeline, packed
from streamweir.runs.redis_scripts import Script
from streamweir.runs.redis_values import RedisValues
from streamweir.runs.redis_wakeups import RunWakeups
from streamweir.runs.store import RunLost, RunState, Signals, StoreUnavailable, UnreadableValue

__all__ = ["RedisStore"]

_COMMANDS: Final = 512
_PAGES: Final = 16
"""The most commands of a batch of page reads; 16 pages can be 4 MiB."""

_SCHEMES: Final = {"valkey": "redis", "valkeys": "rediss"}
_MIN_LEASE: Final = 1.0
_RUN_KEYS: Final = 4


class RedisStore:
    """Keeps runs in Redis or Valkey.

    Args:
        url: `redis://`, `rediss://`, `valkey://`, `valkeys://` or `unix://`.
        prefix: the prefix of all names in the store.
        timeout: the longest time to wait for an answer, counted from the sending of the command.
        lease: how long a run is owned after its owner last appended or renewed; at least 1s.

    Raises:
        ConfigurationError: an option has an invalid value.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = STORE_PREFIX,
        timeout: Duration = STORE_TIMEOUT,
        lease: Duration = STORE_LEASE,
    ) -> None:
        self.lease = parse_duration(lease, name="lease")
        if self.lease < _MIN_LEASE:
            raise ConfigurationError("lease must be 1s or more")
        seconds = parse_duration(timeout, name="timeout")
        self._prefix: Final = prefix
        connect = _connector(url)
        self._health: Final = StoreHealth(connect, seconds)
        self._commands: Final = CommandPipeline(connect, self._health, timeout=seconds, batch=_COMMANDS)
        self._pages: Final = CommandPipeline(connect, self._health, timeout=seconds, batch=_PAGES)
        self._values: Final = RedisValues(self._pages, prefix)
        self._wakeups: Final = RunWakeups(connect, timeout=seconds)
        self._owned: dict[str, _OwnedRun] = {}

    @property
    def is_up(self) -> bool:
        """Whether the server answered the last command."""
        return self._health.is_up

    def observe(self, *, on_change: Callable[[bool], object], on_answer: Callable[[float], object]) -> None:
        """Report the health of the server.

        Args:
            on_change: called with False when the server stops answering, with True when it answers again.
            on_answer: called with the seconds that an answer took.
        """
        self._health.on_change, self._health.on_answer = on_change, on_answer

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        """See `RunStore.claim`."""
        arguments = token, about, self._lease_ms, _ms(self.lease + ttl), _ms(ttl)
        claimed = bool(await self._on_run(scripts.CLAIM, run, *arguments))
        if claimed:
            self._owned.setdefault(run, _OwnedRun(token, packed((_RUN_KEYS, *self._names(run)))))
        return claimed

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        """See `RunStore.append`."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def stored(error: StreamweirError | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)

        self.append_soon(run, token, at, events, ttl=ttl, ends=ends, stored=stored)
        await answer

    def append_soon(
        self,
        run: str,
        token: str,
        at: int,
        events: Sequence[bytes],
        *,
        ttl: float,
        ends: bool,
        stored: Stored,
    ) -> None:
        """See `EagerStore`."""
        keep = ttl if ends else self.lease + ttl

        def answered(answer: Any) -> None:
            if isinstance(answer, StoreUnavailable):
                stored(answer)
            elif not isinstance(answer, int):
                stored(StoreUnavailable())
            elif answer < 0:
                self._disown(run, token)
                stored(RunLost())
            else:
                self._note_append(run, token, at + len(events), ends=ends)
                stored(None)

        owned = self._owned.get(run)
        names = packed((_RUN_KEYS, *self._names(run))) if owned is None else owned.names
        arguments: list[str | bytes | int] = [token, at, self._lease_ms, _ms(keep), int(ends), *events]
        self._commands.send(scripts.APPEND, names, _RUN_KEYS, arguments, answered)

    async def renew(self, run: str, token: str, *, ttl: float) -> Signals:
        """See `RunStore.renew`."""
        answer = await self._on_run(scripts.RENEW, run, token, self._lease_ms, _ms(self.lease + ttl))
        cancelled, left = answer
        self._check_owner(run, token, cancelled)
        return Signals(bool(cancelled), self._unread_for(run, left, ttl))

    async def discard(self, run: str, token: str, *, ttl: float) -> None:
        """See `RunStore.discard`."""
        self._check_owner(run, token, await self._on_run(scripts.DISCARD, run, token, _ms(ttl)))
        self._disown(run, token)

    async def look(self, run: str) -> RunState | None:
        """See `RunStore.look`."""
        try:
            about, stored, ended_at, owned, there = await self._on_run(scripts.LOOK, run)
        except UnreadableValue:
            return RunState(b"", 0, "gone", False, None)
        if about is None:
            return None
        if _number(stored) != there:
            return RunState(about, 0, "gone", False, None)
        if ended_at is None:
            return RunState(about, there, "running", bool(owned), None)
        if (ended := _number(ended_at)) is None:
            return RunState(about, 0, "gone", False, None)
        return RunState(about, there, "ended", False, ended)

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        """See `RunStore.read`."""
        page: list[bytes] = await self._pages.call(scripts.READ, self._names(run), at)
        return page

    async def wait(self, run: str, at: int, seconds: float) -> None:
        """See `RunStore.wait`."""
        try:
            async with asyncio.timeout(seconds):
                await self._wait(run, at)
        except TimeoutError:
            return

    async def seize(self, run: str, at: int, events: Sequence[bytes], *, ttl: float) -> bool:
        """See `RunStore.seize`."""
        own_token = f"seized-{secrets.token_hex(8)}"
        return bool(await self._on_run(scripts.SEIZE, run, own_token, at, _ms(ttl), *events))

    async def ask_to_cancel(self, run: str) -> None:
        """See `RunStore.ask_to_cancel`."""
        await self._on_run(scripts.CANCEL, run)

    async def touch(self, run: str) -> None:
        """See `RunStore.touch`."""
        await self._on_run(scripts.TOUCH, run)

    async def forget(self, run: str) -> None:
        """See `RunStore.forget`."""
        await self._on_run(scripts.FORGET, run)

    async def index(self, run: str, keys: Sequence[str], *, ttl: float) -> None:
        """See `RunStore.index`."""
        for key in keys:
            base = f"{self._prefix}find:{{{key}}}"
            await self._commands.call(scripts.INDEX, [base, f"{base}:until"], run, _ms(ttl))

    async def find(self, key: str) -> Sequence[str]:
        """See `RunStore.find`."""
        found: list[bytes] = await self._commands.call(scripts.FIND, [f"{self._prefix}find:{{{key}}}"])
        return [run.decode("ascii", "replace") for run in found]

    async def put(self, name: str, value: bytes, *, ttl: float) -> None:
        """See `RunStore.put`."""
        await self._values.put(name, value, _ms(ttl))

    async def get(self, name: str, *, ttl: float) -> bytes | None:
        """See `RunStore.get`."""
        (value,) = await self._values.get_many([name], _ms(ttl))
        return value

    async def get_many(self, names: Sequence[str], *, ttl: float) -> Sequence[bytes | None]:
        """See `ManyValuesStore.get_many`."""
        return await self._values.get_many(names, _ms(ttl))

    async def drop(self, name: str) -> None:
        """See `RunStore.drop`."""
        await self._values.drop(name)

    async def allow(self, bucket: str, requests: int, seconds: float) -> float:
        """See `RateStore.allow`."""
        names = [f"{self._prefix}rate:{{{bucket}}}"]
        return float(await self._commands.call(scripts.ALLOW, names, requests, seconds))

    async def take_back(self, bucket: str) -> None:
        """See `RateStore.take_back`."""
        await self._commands.call(scripts.TAKE_BACK, [f"{self._prefix}rate:{{{bucket}}}"])

    async def aclose(self) -> None:
        """See `RunStore.aclose`."""
        await self._wakeups.aclose()
        await self._commands.aclose()
        await self._pages.aclose()
        await self._health.aclose()

    @property
    def _lease_ms(self) -> int:
        return _ms(self.lease)

    def _names(self, run: str) -> list[str]:
        base = f"{self._prefix}run:{{{run}}}"
        return [base, f"{base}:events", f"{base}:owner", f"{base}:reader"]

    async def _on_run(self, script: Script, run: str, *arguments: str | bytes | int) -> Any:
        return await self._commands.call(script, self._names(run), *arguments)

    def _unread_for(self, run: str, left: int, ttl: float) -> float:
        """Return for how many seconds the run had no reader; a lower bound if the readers' mark is gone.

        Args:
            run: the run.
            left: milliseconds that the readers' mark has to live; negative if it is gone.
            ttl: the time to live in seconds that each reader gives the mark.
        """
        owned, now = self._owned.get(run), time.monotonic()
        if left >= 0:
            if owned is not None:
                owned.mark_gone_at = None
            return max(ttl - left / 1000, 0.0)
        if owned is None:
            return ttl
        if owned.mark_gone_at is None:
            owned.mark_gone_at = now
        return ttl + now - owned.mark_gone_at

    def _check_owner(self, run: str, token: str, answer: int) -> None:
        if answer < 0:
            self._disown(run, token)
            raise RunLost

    def _note_append(self, run: str, token: str, events: int, *, ends: bool) -> None:
        if ends:
            self._disown(run, token)
        elif run in self._owned:
            self._owned[run].append(events)

    def _disown(self, run: str, token: str) -> None:
        owned = self._owned.get(run)
        if owned is not None and owned.token == token:
            del self._owned[run]
            owned.wake()

    async def _wait(self, run: str, at: int) -> None:
        while (owned := self._owned.get(run)) is not None and owned.events <= at:
            if not await owned.changes_within(self.lease / 3) and not await self._is_waiting(run, at):
                return
        if owned is not None:
            return
        with self._wakeups.listen(self._names(run)[0]) as channel:
            while True:
                changed = channel.changed
                if not await self._is_waiting(run, at):
                    return
                await changed.wait()

    async def _is_waiting(self, run: str, at: int) -> bool:
        """Return whether the run is running and has no event `at`, according to the server."""
        state = await self.look(run)
        return state is not None and state.state == "running" and state.events <= at


def _number(stored: bytes | None) -> int | None:
    """Return the number in a field of a run; None if the field holds no number."""
    return int(stored) if stored is not None and len(stored) < 20 and stored.isdigit() else None


class _OwnedRun:
    """A run that this store object appends to: readers in this process need not ask for its length."""

    __slots__ = ("_changed", "events", "mark_gone_at", "names", "token")

    def __init__(self, token: str, names: bytes) -> None:
        self.token = token
        self.names = names
        self.events = 0
        self.mark_gone_at: float | None = None
        """When the readers' mark was first seen to be gone; None while it is there."""
        self._changed: asyncio.Event | None = None

    def append(self, events: int) -> None:
        self.events = events
        self.wake()

    def wake(self) -> None:
        """Wake the tasks that wait for a change of the run; most runs have no such tasks."""
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    async def changes_within(self, seconds: float) -> bool:
        """Wait for an append or the end of ownership; return False if neither happened within `seconds`."""
        if self._changed is None:
            self._changed = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


def _connector(url: str) -> Callable[[], AbstractConnection]:
    scheme, _, rest = url.partition("://")
    try:
        pool = ConnectionPool.from_url(
            f"{_SCHEMES.get(scheme, scheme)}://{rest}", protocol=2, socket_timeout=None
        )
    except (ValueError, RedisError):  # the message of the error may hold the password
        raise ConfigurationError("the store must be a URL such as redis://host:6379/0") from None

    make: Callable[[], AbstractConnection] = pool.make_connection
    return make


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
