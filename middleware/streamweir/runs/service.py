"""The runs of one store: started, joined, read, cancelled, removed and found by every shell (gateway,
middleware, response).

Each call takes the owner, such as the name of a key: two owners may use the same handle and have two runs.
The owner None means every client that has the handle. This module knows no HTTP; `http/run_refusals.py`
turns its errors into refusals.

Source: the contract of resumable streams, sections 2 to 5.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, ClassVar, Final, Generic, TypeVar

from streamweir.errors import StreamweirError
from streamweir.runs.folded_runs import FoldedRuns
from streamweir.runs.found_run import About, FoundRun, about_of
from streamweir.runs.handles import Position, run_name
from streamweir.runs.resumable_run import ResumableRun
from streamweir.runs.run_description import run_description
from streamweir.runs.run_index import indexed_runs
from streamweir.runs.run_reader import RunReader
from streamweir.runs.store import RunStore
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["ForeignPosition", "NothingLeft", "RunError", "RunExists", "RunGone", "RunNotFound", "RunService"]

_CANCEL_SECONDS: Final = 2.0
"""The longest time for which `cancel` waits for the end of the run."""

Run = TypeVar("Run", bound=ResumableRun)


class RunError(StreamweirError):
    """The requested operation on a run is not possible.

    Attributes:
        code: the code of the refusal that a client gets.
    """

    code: ClassVar[str]


class RunNotFound(RunError):
    """The owner has no run with this handle."""

    code = "RUN_NOT_FOUND"


class RunGone(RunError):
    """The run can no longer be read, or has no event at the position."""

    code = "RUN_GONE"


class RunExists(RunError):
    """A run with this handle exists, and it belongs to another request."""

    code = "RUN_EXISTS"


class ForeignPosition(RunError):
    """The position belongs to another run."""

    code = "BAD_REQUEST"

    def __init__(self) -> None:
        super().__init__("Last-Event-ID: names another run.")


class NothingLeft(Exception):
    """The run has ended, and the client has received all of its events."""


class RunService(Generic[Run]):
    """Starts, reads, ends and finds the runs of one store.

    Every coroutine raises `StoreUnavailable` if the store does not answer.

    Attributes:
        store: keeps the runs.
        under_way: the runs that this process makes, by their names in the store. `start` adds a run and
            `finished` removes it; otherwise a later cancel would go to an ended run.

    Args:
        store: keeps the runs.
        under_way: the mapping that several services of one store share; None: a new one.
    """

    def __init__(self, store: RunStore, under_way: dict[str, Run] | None = None) -> None:
        self.store: Final = store
        self.under_way: Final[dict[str, Run]] = {} if under_way is None else under_way
        self._folded: Final = FoldedRuns(store)

    # Starting

    async def start(self, run: Run, about: About) -> bool:
        """Claim a run in the store.

        Returns:
            False if a run with this handle exists; `join` reads it.
        """
        if not await run.claim(about):
            return False
        self.under_way[run.name] = run
        return True

    def finished(self, run: Run) -> None:
        """Note that this process no longer makes `run`."""
        self.under_way.pop(run.name, None)

    async def join(self, owner: str | None, handle: str, about: About) -> FoundRun:
        """Return the existing run whose handle a request brings; `about` has the facts to claim a new run for
        that request.

        Raises:
            RunExists: the run answers another request.
            RunNotFound: the run has been removed meanwhile.
            RunGone: the run cannot be read.
        """
        found = await self.look_up(owner, handle)
        known = found.about
        if (known.endpoint, known.path, known.body) != (about.endpoint, about.path, about.body):
            raise RunExists
        return found

    # Reading

    async def look_up(self, owner: str | None, handle: str) -> FoundRun:
        """Return the run of a handle.

        Raises:
            RunNotFound: the owner has no such run.
            RunGone: the run cannot be read.
        """
        name = run_name(owner, handle)
        state = await self.store.look(name)
        if state is None:
            raise RunNotFound
        try:
            about = about_of(state)
        except UnreadableRun:
            raise RunGone from None
        if state.state == "gone":
            raise RunGone
        return FoundRun(handle, name, state, about)

    def read(self, found: FoundRun, position: Position | None = None) -> RunReader | None:
        """Return a reader of a run, which the caller closes.

        Args:
            found: the run.
            position: the position up to which the client has read; None: it wants the whole run.

        Returns:
            None if the run has ended and its client has all events.

        Raises:
            ForeignPosition: the position names another run.
            RunGone: the run has no event at the position.
        """
        check_position(found, position)
        if position is not None and _is_last(position, found):
            return None
        run = self.under_way.get(found.name)
        owned = None if run is None else run.owned
        return RunReader(self.store, found.handle, found.name, found.about, owned=owned, position=position)

    async def fold(self, found: FoundRun, position: Position | None = None) -> dict[str, Any]:
        """Return the folded result of the stored events of a run, with the run's description in `run`.

        Raises:
            ForeignPosition: the position names another run.
            RunGone: the run cannot be read, or has no event at the position.
        """
        check_position(found, position)
        try:
            return await self._folded.fold(found)
        except UnreadableRun:
            raise RunGone from None

    async def describe(self, found: FoundRun) -> dict[str, Any]:
        """Return the JSON object `run` of the contract for this run."""
        return await run_description(self.store, found)

    # Ending

    async def cancel(self, owner: str | None, handle: str) -> FoundRun:
        """End a run with `cancelled`, wait up to 2 s for its end, and return its state at that time.

        If a cancel and an end happen at the same time, the one that is stored first counts.

        Raises:
            RunNotFound: the owner has no such run.
            RunGone: the run cannot be read.
        """
        await self._end(await self.look_up(owner, handle))
        return await self.look_up(owner, handle)

    async def remove(self, owner: str | None, handle: str) -> None:
        """Cancel a run if it is running, then delete everything stored about it.

        Raises:
            RunNotFound: the owner has no such run.
        """
        with suppress(RunGone):  # its events are deleted already; the rest follows
            await self._end(await self.look_up(owner, handle))
        name = run_name(owner, handle)
        self._folded.forget(name)
        await self.store.forget(name)

    # Finding

    async def find(
        self, owner: str | None, kind: str, value: str, *, serves: Callable[[About], bool]
    ) -> AsyncIterator[FoundRun]:
        """Yield the owner's runs with this id, newest first.

        Args:
            owner: the owner of the runs.
            kind: one of `run_index.KINDS`.
            value: the id.
            serves: returns whether a run may be shown.
        """
        async for found in indexed_runs(self.store, owner, kind, value):
            if serves(found.about):
                yield found

    async def latest(
        self, owner: str | None, kind: str, value: str, *, serves: Callable[[About], bool]
    ) -> FoundRun | None:
        """Return the newest of the runs that `find` yields and that are still running; None without one."""
        async for found in self.find(owner, kind, value, serves=serves):
            if found.state.state == "running":
                return found
        return None

    async def aclose(self) -> None:
        """Close the store."""
        await self.store.aclose()

    async def _end(self, found: FoundRun) -> None:
        """Cancel a running run, and wait for its end."""
        if found.state.state != "running":
            return
        run = self.under_way.get(found.name)
        if run is None:
            await self.store.ask_to_cancel(found.name)
        else:
            run.stop("cancelled")
        until, state = time.monotonic() + _CANCEL_SECONDS, found.state
        while state.state == "running" and (left := until - time.monotonic()) > 0:
            await self.store.wait(found.name, state.events, left)
            looked = await self.store.look(found.name)
            if looked is None:
                return
            state = looked


def check_position(found: FoundRun, position: Position | None) -> None:
    """Check that a position belongs to this run.

    Raises:
        ForeignPosition: the position names another run.
        RunGone: the run has no event at the position.
    """
    if position is None:
        return
    if position.run not in (None, found.handle):
        raise ForeignPosition
    if position.event >= found.state.events:
        raise RunGone


def _is_last(position: Position, found: FoundRun) -> bool:
    state = found.state
    return state.state == "ended" and position.event == state.events - 1 and position.frames is None
