"""One conversation of a client."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Conversation"]


class Conversation(NamedTuple):
    """One conversation of a client.

    Attributes:
        upstream: that began it.
        thread_id: as the upstream calls it; None where that is not known.
    """

    upstream: str
    thread_id: str | None
