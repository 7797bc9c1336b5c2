"""The kinds of events that a writer adapts to its client."""

from __future__ import annotations

from functools import cache
from typing import Final

from streamweir.codec.opaque_values import OPAQUE_EVENTS
from streamweir.events import Content, Error, Event, SessionEnd, SessionStart, Warning

__all__ = ["adapted_kinds"]

_ALWAYS: Final[frozenset[type[Event]]] = frozenset({SessionStart, SessionEnd, Error})


@cache
def adapted_kinds(is_append_only: bool, warns: bool, carries_opaque: bool) -> frozenset[type[Event]]:
    """Return the kinds of events that are adapted to a client before they are encoded."""
    texts: set[type[Event]] = {Content} if is_append_only else set()
    warnings: set[type[Event]] = set() if warns else {Warning}
    opaque: frozenset[type[Event]] = frozenset() if carries_opaque else OPAQUE_EVENTS
    return _ALWAYS | texts | warnings | opaque
