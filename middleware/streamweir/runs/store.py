"""What keeps runs: the interface, what passes through it, and how it fails.

Source: the contract of resumable streams, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from streamweir.errors import StreamweirError

__all__ = [
    "MAX_FOUND",
    "PAGE_BYTES",
    "PAGE_EVENTS",
    "RateStore",
    "RunLost",
    "RunState",
    "RunStore",
    "Signals",
    "StoreFull",
    "StoreUnavailable",
    "page_of",
]

PAGE_EVENTS = 256
PAGE_BYTES = 256 << 10
"""Of one page, which holds at least one event, however long."""

MAX_FOUND = 100
"""So many runs are found by one key, the newest."""


class StoreUnavailable(StreamweirError):
    """The store cannot be asked now; it may be later."""


class StoreFull(StoreUnavailable):
    """The store takes nothing more."""


class RunLost(StreamweirError):
    """The run is not its caller's: another token, another position, ended, or not there."""


class Signals(NamedTuple):
    """What a run's owner learns when it renews its lease.

    Attributes:
        cancelled: somebody asked for its end.
        unread_for: seconds since a reader was last there, by the store's clock.
    """

    cancelled: bool
    unread_for: float


class RunState(NamedTuple):
    """What is known of a run without reading it.

    Attributes:
        about: what it was claimed with, JSON.
        events: how many are stored.
        state: `gone` has no events any more and never will.
        owned: its lease is not over.
        ended_at: Unix milliseconds, by the store's clock; None while it runs.
    """

    about: bytes
    events: int
    state: Literal["running", "ended", "gone"]
    owned: bool
    ended_at: int | None


@runtime_checkable
class RunStore(Protocol):
    """Keeps runs as numbered events; one owner at a time may append to each.

    `run` and `key` are 32 lower-case hex digits, `token` is a text that its owner alone knows, `about` and
    events are JSON, `ttl` and `seconds` are seconds. What may pass is `StoreUnavailable`, and `RunLost`
    where it is named. Every call may be repeated: an answer that got lost is asked for again.

    Attributes:
        lease: seconds for which an owner owns a run since it last appended or renewed.
    """

    lease: float

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        """Begin a run; False if it is there already, but True once more for the same token."""

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        """Store events from position `at` on, all or none; the same once more is done already.

        Args:
            run: which one.
            token: its owner's.
            at: the position of the first of the events, which is how many are stored.
            events: in their order.
            ttl: for which the run is kept after its end.
            ends: these are the last.

        Raises:
            RunLost: another token, another position, not there, or ended.
        """

    async def renew(self, run: str, token: str, *, ttl: float) -> Signals:
        """Keep the lease.

        Raises:
            RunLost: another token, not there, or ended.
        """

    async def discard(self, run: str, token: str, *, ttl: float) -> None:
        """Free the events; the run is `gone` for `ttl`.

        Raises:
            RunLost: another token, not there, or ended.
        """

    async def look(self, run: str) -> RunState | None:
        """Return what is known of a run; None if nothing is."""

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        """Return one page of the events from position `at` on; nothing where there are none."""

    async def wait(self, run: str, at: int, seconds: float) -> None:
        """Return when event `at` is stored, when the run does not run (any more), or after `seconds`."""

    async def seize(self, run: str, at: int, events: Sequence[bytes], *, ttl: float) -> bool:
        """End a run that runs, that nobody owns and that has `at` events; True for the one who did."""

    async def ask_to_cancel(self, run: str) -> None:
        """Leave word for the owner that the run is to end."""

    async def touch(self, run: str) -> None:
        """Note that somebody reads the run."""

    async def forget(self, run: str) -> None:
        """Remove the run and all that is known of it."""

    async def index(self, run: str, keys: Sequence[str], *, ttl: float) -> None:
        """Let a run be found by each of `keys`, for `ttl` at least."""

    async def find(self, key: str) -> Sequence[str]:
        """Return the runs that are found by `key`, newest first, 100 at most; some may be gone."""

    async def aclose(self) -> None:
        """Let go of all connections; runs stay."""


@runtime_checkable
class RateStore(Protocol):
    """A store that counts requests for all who share it."""

    async def allow(self, bucket: str, requests: int, seconds: float) -> float:
        """Count a request and return 0, or do not count it and return the seconds until one may come."""

    async def take_back(self, bucket: str) -> None:
        """Do not count the request that was counted last: something else refuses it."""


def page_of(events: Sequence[bytes], at: int) -> list[bytes]:
    """Return one page of `events` from position `at` on."""
    page: list[bytes] = []
    size = 0
    for event in events[at : at + PAGE_EVENTS]:
        size += len(event)
        if page and size > PAGE_BYTES:
            break
        page.append(event)
    return page
