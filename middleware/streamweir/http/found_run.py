"""A client's run: how it is found, joined and stopped, and with what a request is refused that wants another.

Source: the contract of resumable streams, sections 2 to 5.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from streamweir.http.refusals import Refusal
from streamweir.runs.handles import run_name
from streamweir.runs.run_description import about_of, until_ended
from streamweir.runs.run_index import IndexedRun
from streamweir.runs.run_reader import About
from streamweir.runs.store import RunState, RunStore
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["NothingLeft", "Stoppable", "check_same_request", "find_run", "stop_run", "store_unavailable"]

_STOP_SECONDS: Final = 2.0
"""So long a cancel waits for the run to end; then it says that it will."""


class NothingLeft(Exception):
    """The run is over, and its client has all of it."""


class Stoppable(Protocol):
    """A run that this process makes."""

    def stop(self, reason: Literal["cancelled", "client_gone"]) -> None:
        """End it, which is no failure."""
        ...


def store_unavailable() -> Refusal:
    """Return the refusal of a request that needs a store which is out of reach."""
    return Refusal("STORE_UNAVAILABLE", headers={"Retry-After": "1"})


async def find_run(store: RunStore, owner: str | None, handle: str) -> IndexedRun:
    """Return the run of this handle.

    Args:
        store: keeps it.
        owner: whose it is; None where runs belong to whoever has their handle.
        handle: of the run.

    Raises:
        Refusal: there is none, or it is gone.
        StoreUnavailable: the store is out of reach.
    """
    name = run_name(owner, handle)
    state = await store.look(name)
    if state is None:
        raise Refusal("RUN_NOT_FOUND")
    try:
        about = about_of(state)
    except UnreadableRun:
        raise Refusal("RUN_GONE") from None
    if state.state == "gone":
        raise Refusal("RUN_GONE")
    return IndexedRun(handle, name, state, about)


def check_same_request(found: About, asked: About) -> None:
    """Check that a request which brings the handle of a run asks for what that run answers.

    Args:
        found: what the run was claimed with.
        asked: what the request would have claimed it with.

    Raises:
        Refusal: it asks for something else.
    """
    if (found.endpoint, found.path, found.body) != (asked.endpoint, asked.path, asked.body):
        raise Refusal("RUN_EXISTS")


async def stop_run(store: RunStore, name: str, state: RunState, made_here: Stoppable | None) -> None:
    """End a run, if it is not over, and wait for its end a little.

    Args:
        store: keeps it.
        name: of the run in the store.
        state: as it was found.
        made_here: the run, where this process makes it.

    Raises:
        StoreUnavailable: the store is out of reach.
    """
    if state.state != "running":
        return
    if made_here is not None:
        made_here.stop("cancelled")
    else:
        await store.ask_to_cancel(name)
    await until_ended(store, name, state, _STOP_SECONDS)
