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
    """The store does not answer now; it may later."""


class StoreFull(StoreUnavailable):
    """The store has no memory for more events."""


class UnreadableValue(StoreUnavailable):
    """The store holds a value under a name that this library does not write there."""


class RunLost(StreamweirError):
    """The caller may not change the run: token or position is another one, or it has ended or is unknown."""


class Signals(NamedTuple):
    """The facts that the owner of a run learns when it renews its lease.

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
    `StoreUnavailable`; some raise `RunLost`. Every call may be repeated: a caller that got no answer asks
    again.

    Attributes:
        lease: seconds for which a run is owned after its owner last appended or renewed.
    """

    lease: float

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        """Begin a run; return False if it exists with another token."""

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        """Store all of `events` from position `at` on, or none of them. A repeated append changes nothing.

        Args:
            run: to append to.
            token: of its owner.
            at: the position of the first event, which is the number of events stored before.
            events: in their order.
            ttl: seconds for which the run is kept after its end.
            ends: these are the last events.

        Raises:
            RunLost: token or position is another one, or the run has ended or is unknown.
        """

    async def renew(self, run: str, token: str, *, ttl: float) -> Signals:
        """Renew the lease.

        Raises:
            RunLost: the token is another one, or the run has ended or is unknown.
        """

    async def discard(self, run: str, token: str, *, ttl: float) -> None:
        """Delete the events; the run is `gone` for `ttl`.

        Raises:
            RunLost: the token is another one, or the run has ended or is unknown.
        """

    async def look(self, run: str) -> RunState | None:
        """Return the state of a run; None if it is unknown."""

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        """Return one page of the events from position `at` on; an empty one if there are none."""

    async def wait(self, run: str, at: int, seconds: float) -> None:
        """Return once event `at` is stored or the run is not running, or after `seconds`."""

    async def seize(self, run: str, at: int, events: Sequence[bytes], *, ttl: float) -> bool:
        """End a running run with an expired lease and `at` events; return whether this call ended it."""

    async def ask_to_cancel(self, run: str) -> None:
        """Ask the owner to end the run; it learns that from `renew`."""

    async def touch(self, run: str) -> None:
        """Note that the run has a reader now."""

    async def forget(self, run: str) -> None:
        """Delete the run and its events."""

    async def index(self, run: str, keys: Sequence[str], *, ttl: float) -> None:
        """Let `find` return a run for each of `keys`, for `ttl` at least."""

    async def find(self, key: str) -> Sequence[str]:
        """Return the runs of `key`, newest first, 100 at most; some may have expired."""

    async def put(self, name: str, value: bytes, *, ttl: float) -> None:
        """Keep a value for `ttl` seconds, in place of the one with the same name.

        A store that is full may forget values to make room: the one used longest ago first.

        Args:
            name: of the value; a run may have the same name.
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
        """Uncount the last request, because another limit refuses it."""


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
