"""The requests to each upstream of an endpoint for one request of a client.

Source: the request contract, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamweir.requests.written import Written
from streamweir.translation.sink import EventTap

__all__ = ["NO_OFFER", "Offer"]


@dataclass(frozen=True, slots=True)
class Offer:
    """The requests to one upstream.

    Attributes:
        written: the requests in their order, the last one for the stream; None: the client's body unchanged.
        lost: the names of fields that the upstream cannot take.
        tap: a sink for the events of the upstream's answer; None: no further sink.
        answers: the request answers a question of a run, which may go on in the connection that asked.
    """

    written: Sequence[Written] | None = None
    lost: tuple[str, ...] = ()
    tap: EventTap | None = None
    answers: bool = False

    @property
    def asks_for_usage(self) -> bool:
        """The upstream is asked for the usage of its stream."""
        match self.written[-1].body if self.written else None:
            case {"stream_options": {"include_usage": True}}:
                return True
        return False


NO_OFFER: Final = Offer()
"""The offer that sends the client's body unchanged."""
