"""The state of one stream while it is read by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.expressions import Scope

__all__ = ["READ_NAMES", "ReadScope"]

READ_NAMES = frozenset({"_message", "_text", "_event", "_state", "_options"})
"""The names of expressions that read, outside of `each`."""


class ReadScope(Scope):
    """What expressions see, and what entries keep that are no events.

    Attributes:
        usage: the counts so far, for the summary of the end.
        complete: an entry has said that the answer is complete.
        is_json: the frame that is read holds JSON, or nothing.
    """

    __slots__ = ("complete", "is_json", "usage")

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.usage: dict[str, Any] = {}
        self.complete = False
        self.is_json = True
