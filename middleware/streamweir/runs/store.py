"""The interface of stores of runs, with its values and its errors.

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
    "UnreadableValue",
    "page_of",
]

PAGE_EVENTS = 256
PAGE_BYTES = 256 << 10
"""The most bytes of a page, unless its only event is longer."""

MAX_FOUND = 100
"""The most runs that `find` returns: the newest ones."""


class StoreUnavailable(StreamweirError):
    """The store does not answer now; a later call may succeed."""


class StoreFull(StoreUnavailable):
    """The store has no memory for more events."""


class UnreadableValue(StoreUnavailable):
    """A stored value has a type or form that this library does not write under that name."""


class RunLost(StreamweirError):
    """The caller may not change the run: wrong token or position, or the run has ended or is unknown."""


class Signals(NamedTuple):
    """The facts that the owner of a run learns by renewing the lease.

    Attributes:
        cancelled: a client asked for the end of the run.
        unread_for: seconds since a reader last touched the run, by the store's clock.
    """

    cancelled: bool
    unread_for: float


class RunState(NamedTuple):
    """The facts about a run that are known without its events.

    Attributes:
        about: the JSON that it was claimed with.
        events: the number of stored events.
        state: a `gone` run has no events, and never gets any.
        owned: its lease has not expired.
        ended_at: Unix milliseconds, by the store's clock; None while it runs.
    """

    about: bytes
    events: int
    state: Literal["running", "ended", "gone"]
    owned: bool
    ended_at: int | None


@runtime_checkable
class RunStore(Protocol):
    """Keeps runs as numbered events, and named values; one owner at a time may append to a run.

    `run`, `key` and `name` are 32 lower-case hex digits, `token` is a text that only the owner of the run
    knows, `about` and events are JSON, `ttl` and `seconds` are seconds. Every method may raise
    `StoreUnavailable`; some raise `RunLost`. Every call may be repeated: callers without an answer ask again.

    Attributes:
        lease: seconds for which a run is owned after its owner last appended or renewed.
    """

    lease: float

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        """Begin a run; return False if the run exists with another token."""

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        """Store all of `events` from position `at` on, or none of them. A repeated append changes nothing.

        Args:
            run: the run to append to.
            token: the token of the run's owner.
            at: the position of the first event, which is the number of events stored before.
            events: the events in their order.
            ttl: seconds for which the run is kept after its end.
            ends: True if these are the last events.

        Raises:
            RunLost: the token or the position does not match, or the run has ended or is unknown.
        """

    async def renew(self, run: str, token: str, *, ttl: float) -> Signals:
        """Renew the lease.

        Raises:
            RunLost: the token does not match, or the run has ended or is unknown.
        """

    async def discard(self, run: str, token: str, *, ttl: float) -> None:
        """Delete the events of a run; its state is `gone` for `ttl` seconds.

        Raises:
            RunLost: the token does not match, or the run has ended or is unknown.
        """

    async def look(self, run: str) -> RunState | None:
        """Return the state of a run; None if it is unknown."""

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        """Return one page of the events from position `at` on; an empty page if there are no events."""

    async def wait(self, run: str, at: int, seconds: float) -> None:
        """Return once event `at` is stored, the run is no longer running, or `seconds` have passed."""

    async def seize(self, run: str, at: int, events: Sequence[bytes], *, ttl: float) -> bool:
        """End a running run with an expired lease that has `at` events; return whether this call ended it."""

    async def ask_to_cancel(self, run: str) -> None:
        """Ask the owner to end the run; the owner learns this from `renew`."""

    async def touch(self, run: str) -> None:
        """Note that the run has a reader now."""

    async def forget(self, run: str) -> None:
        """Delete the run and its events."""

    async def index(self, run: str, keys: Sequence[str], *, ttl: float) -> None:
        """Make `find` return the run for each of `keys`, for at least `ttl` seconds."""

    async def find(self, key: str) -> Sequence[str]:
        """Return the runs of `key`, newest first, 100 at most; some may have expired."""

    async def put(self, name: str, value: bytes, *, ttl: float) -> None:
        """Keep a value for `ttl` seconds, replacing the value with the same name.

        A full store may forget values to make room, the least recently used first.

        Args:
            name: the name of the value; a run may have the same name.
            value: any bytes.
            ttl: seconds from now.
        """

    async def get(self, name: str, *, ttl: float) -> bytes | None:
        """Return a value and keep it for `ttl` seconds from now; None if it is unknown or unreadable."""

    async def drop(self, name: str) -> None:
        """Forget a value; an unknown name is no error."""

    async def aclose(self) -> None:
        """Close all connections; runs and values stay in the store."""


@runtime_checkable
class RateStore(Protocol):
    """A store that counts requests for all processes that share it."""

    async def allow(self, bucket: str, requests: int, seconds: float) -> float:
        """Count a request and return 0, or return the seconds until the next one is allowed."""

    async def take_back(self, bucket: str) -> None:
        """Undo the count of the last request, because another limit refuses it."""


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
