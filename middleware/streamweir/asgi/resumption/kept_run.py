"""A run of an application: it goes on by itself until it ends, is stopped or is read by nobody.

Source: the contract of resumable streams, sections 1, 2, 5 and 6.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from streamweir.runs.event_log import EventLog
from streamweir.runs.options import Resume
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_index import RunIndex
from streamweir.runs.run_reader import About, is_unread
from streamweir.runs.store import RunStore, StoreUnavailable

__all__ = ["KeptRun", "StopReason"]

logger = logging.getLogger("streamweir")

_LOOK_SECONDS: Final = 1.0
"""At most: a cancel from another process is noticed then."""

StopReason: TypeAlias = Literal["cancelled", "client_gone"]


class KeptRun:
    """One of them.

    Attributes:
        handle: what its clients call it.
        name: what the store calls it.
        owned: the run in the store.
        log: takes its events.

    Args:
        store: keeps it.
        resume: how.
        handle: what its clients call it.
        name: what the store calls it.
        owner: whose it is.
    """

    def __init__(self, store: RunStore, resume: Resume, handle: str, name: str, *, owner: str | None) -> None:
        self.handle: Final = handle
        self.name: Final = name
        self.owned: OwnedRun
        self.log: EventLog
        self._store: Final = store
        self._resume: Final = resume
        self._index = RunIndex(store, name, owner, ttl=resume.ttl) if resume.find else None
        self._stopped: Final = asyncio.Event()
        self._reason: StopReason = "cancelled"
        self._read_at = time.monotonic()

    async def claim(self, about: About) -> bool:
        """Begin the run in the store; False if somebody else has. Where the store is away it is not kept."""
        token, resume = secrets.token_hex(16), self._resume
        try:
            is_ours = await self._store.claim(self.name, token, msgspec.json.encode(about), ttl=resume.ttl)
        except StoreUnavailable:
            self.owned = self._owned(token, detached="unclaimed")
            return True
        self.owned = self._owned(token)
        return is_ours

    async def note_request(self, request_id: str, names: Mapping[str, str]) -> None:
        """Let the run be found, if runs are, by its request and by what that calls its conversation."""
        if self._index is not None and self.owned.detached is None:
            await self._index.note_request(request_id, names)

    def stop(self, reason: StopReason) -> None:
        """End the run, which is no failure; the first reason stays."""
        if not self._stopped.is_set():
            self._reason = reason
            self._stopped.set()

    async def write(self, *, ends: bool) -> None:
        """Store what the log has taken, then hand it on."""
        batch = self.log.take()
        if batch is None:
            if ends:
                await self.owned.until_stored()
                self.owned.finish()
            return
        if self._index is not None and self.owned.detached is None:
            await self._index.note(batch)
        self.owned.push(batch, ends=ends)
        await (self.owned.until_stored() if ends else self.owned.until_room())

    async def look_after(
        self, end: Callable[[StopReason], Awaitable[None]], abandon: Callable[[], None]
    ) -> None:
        """Keep the lease; end the run that somebody cancelled, took over, or that nobody reads.

        Args:
            end: ends it.
            abandon: nothing that it says is wanted any longer.
        """
        seconds = min(_LOOK_SECONDS, self.owned.lease / 3)
        while not self.owned.ended and self.owned.detached != "fenced":
            try:
                async with asyncio.timeout(seconds):
                    await self._stopped.wait()
            except TimeoutError:
                await self._look()
            else:
                await end(self._reason)
                return
        if self.owned.detached == "fenced":
            abandon()

    async def _look(self) -> None:
        try:
            await self._renew()
        except StoreUnavailable:
            return
        except Exception:
            logger.exception("looking after a run failed")

    async def _renew(self) -> None:
        now, owned = time.monotonic(), self.owned
        if owned.readers:
            self._read_at = now
        signals = await owned.renew()
        if self._index is not None and signals is not None:
            await self._index.renew()
        if owned.detached == "unclaimed":
            return  # the application is told itself that its client has left
        if owned.detached is not None:
            alone, allowed = now - self._read_at, 0.0
        elif signals is None:
            return
        elif signals.cancelled:
            self.stop("cancelled")
            return
        else:
            alone, allowed = min(now - self._read_at, signals.unread_for), self._resume.continue_for
        if not owned.readers and is_unread(alone, allowed):
            self.stop("client_gone")

    def _owned(self, token: str, *, detached: Literal["unclaimed"] | None = None) -> OwnedRun:
        resume = self._resume
        return OwnedRun(
            self._store, self.name, token, ttl=resume.ttl, max_bytes=resume.max_bytes, detached=detached
        )
