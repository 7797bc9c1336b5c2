"""One conversation of a client."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Conversation"]


class Conversation(NamedTuple):
    """One conversation of a client.

    Attributes:
        upstream: the identity of the upstream that began the conversation.
        thread_id: the upstream's name for the conversation; None if it is not known.
    """

    upstream: str
    thread_id: str | None
