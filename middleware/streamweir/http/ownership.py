"""Tells the middlewares above that a response is a finished stream, which they must not read again.

Each middleware puts a `StreamOwnership` into the scope; a layer below that writes a stream calls its `take`.
The object is never sent over the network, so no upstream can forge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.context import WarningCollector
from streamweir.http.asked_answer import AskedAnswer
from streamweir.http.sending import Scope
from streamweir.translation.taps import TapMaker

__all__ = [
    "StreamOwnership",
    "hand_down",
    "offer_runs",
    "offered_runs",
    "ownership_in",
    "runs_are_kept_above",
    "take_ownership",
]

_EXTENSION: Final = "streamweir.ownership"
_RUNS: Final = "streamweir.runs"


class StreamOwnership:
    """The ownership of one response, as one middleware passes it to the layers below.

    Attributes:
        taken: a layer below has begun a finished stream. Set by `take`, never cleared.
        collector: the collector of warnings of this layer; None if it has none.
        taps: makers of the taps of this layer.
        failure_passes: a failure of the layers below is raised to the server instead of being answered here.
            Set by `let_failure_pass`, never cleared.
        asked: the answer that the client asks for, if this layer has read its request; else None.
        request_run: the run that the response can become, if this layer keeps runs; else None.
    """

    def __init__(self, outer: StreamOwnership | None = None) -> None:
        self.taken = False
        self.collector: WarningCollector | None = None
        self.request_run: object = None
        self.taps: Sequence[TapMaker] = ()
        self.failure_passes = False
        self.asked: AskedAnswer | None = None
        self._outer = outer

    @property
    def all_taps(self) -> list[TapMaker]:
        """The makers of the taps of this layer and of all layers above; all these taps follow the stream."""
        return [*self.taps, *([] if self._outer is None else self._outer.all_taps)]

    @property
    def nearest_run(self) -> object:
        """The `request_run` of this layer, or of the nearest layer above that has one."""
        if self.request_run is not None or self._outer is None:
            return self.request_run
        return self._outer.nearest_run

    @property
    def outer_collector(self) -> WarningCollector | None:
        """The collector of the nearest layer above that has a collector; None if no layer has one."""
        if self._outer is None:
            return None
        return self._outer.collector or self._outer.outer_collector

    def take(self) -> None:
        """Note, here and in all layers above, that a layer below has begun a finished stream."""
        self.taken = True
        self.take_above()

    def let_failure_pass(self) -> None:
        """Make all layers above pass the exception of this layer on to the server."""
        if self._outer is not None:
            self._outer.failure_passes = True
            self._outer.let_failure_pass()

    def take_above(self) -> None:
        """Note, in all layers above, that this layer has begun a finished stream."""
        if self._outer is not None:
            self._outer.take()


def hand_down(scope: Scope) -> tuple[Scope, StreamOwnership]:
    """Return a copy of `scope` for the application below, and the ownership that the copy contains."""
    ownership = StreamOwnership(ownership_in(scope))
    extensions = {**(scope.get("extensions") or {}), _EXTENSION: ownership}
    return {**scope, "extensions": extensions}, ownership


def take_ownership(scope: Scope) -> None:
    """Note in all layers above that the response is a finished stream."""
    ownership = ownership_in(scope)
    if ownership is not None:
        ownership.take()


def ownership_in(scope: Scope) -> StreamOwnership | None:
    """Return the ownership that the nearest layer above put into the scope; None without one."""
    found = (scope.get("extensions") or {}).get(_EXTENSION)
    return found if isinstance(found, StreamOwnership) else None


def offer_runs(scope: Scope, shell: object) -> Scope:
    """Return a copy of `scope` that names the shell which serves runs, for the layers below."""
    return {**scope, "extensions": {**(scope.get("extensions") or {}), _RUNS: shell}}


def offered_runs(scope: Scope) -> object:
    """Return the nearest shell above that serves runs; None if there is none."""
    return (scope.get("extensions") or {}).get(_RUNS)


def runs_are_kept_above(scope: Scope) -> bool:
    """Return whether a layer above makes the response a run."""
    ownership = ownership_in(scope)
    return ownership is not None and ownership.nearest_run is not None
