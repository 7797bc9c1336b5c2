"""A run in the store: the facts it was claimed with, and its state when it was found.

Source: the contract of resumable streams, sections 2 and 3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from streamweir.request_id import valid_request_id
from streamweir.runs.store import RunState
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["About", "FoundRun", "about_of"]

_FRAMINGS: Final = frozenset({"sse", "ndjson", "lines", "json"})
_MAX_SECONDS: Final = 1 << 40
"""An upper bound of stored seconds: a larger number was not written by this library."""


class About(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that a run is claimed with, for readers in every process.

    Attributes:
        endpoint: the template of its path.
        path: a digest of the path that the client called.
        body: a digest of the request's body; empty if the body has not been read whole.
        protocol: the protocol of the first client.
        framing: the framing of the first client.
        request_id: the id of the run.
        started_at: Unix milliseconds.
        ttl: seconds for which the run is kept after its end.
        handle: the run's handle, if runs of this endpoint can be found by ids; else None.
    """

    endpoint: str
    path: str = ""
    body: str = ""
    protocol: str = "standard"
    framing: str = "sse"
    request_id: str
    started_at: int
    ttl: float = 300.0
    handle: str | None = None


class FoundRun(NamedTuple):
    """A run that exists.

    Attributes:
        handle: its name for clients.
        name: its name in the store.
        state: its state when it was found.
        about: the facts that it was claimed with.
    """

    handle: str
    name: str
    state: RunState
    about: About


def about_of(state: RunState) -> About:
    """Return the facts that a run was claimed with.

    Raises:
        UnreadableRun: the store returned something that is not the claim of a run.
    """
    try:
        about = msgspec.json.decode(state.about, type=About)
    except msgspec.MsgspecError as error:
        raise UnreadableRun from error
    if not (
        valid_request_id(about.request_id)
        and about.framing in _FRAMINGS
        and 0 < about.ttl <= _MAX_SECONDS
        and 0 <= about.started_at <= _MAX_SECONDS * 1000
    ):
        raise UnreadableRun
    return about
