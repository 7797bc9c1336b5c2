"""The requests to each upstream of an endpoint for one request of a client.

Source: the request contract, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from streamweir.requests.openai_chat import asks_for_usage
from streamweir.requests.sides import Mend
from streamweir.requests.written import Written
from streamweir.translation.sink import EventTap
from streamweir_gateway.requests.conversation_tap import ConversationTap
from streamweir_gateway.turns.turn_recorder import TurnRecorder

__all__ = ["NO_OFFER", "Offer"]


_NO_TURNS: Final[Mapping[str, int]] = MappingProxyType({})


class Offer(msgspec.Struct, frozen=True, eq=False):
    """The requests to one upstream.

    Attributes:
        written: one request after the other, the last for the stream; None: the client's body is forwarded
            unchanged.
        lost: the names of request fields that the upstream cannot take.
        tap: notes the conversation and the questions in the answer of the upstream.
        taps: more taps that follow the answer; they store it before the client gets its end.
        answers: whether the request answers a question of a run; the run may go on where it was asked.
        new_recorder: makes the recorder that stores the turn of one answer; None: turns are not stored.
        mend: changes the body after a refusal because of reasoning; None: none is possible, or one was made.
        is_mended: whether the body was changed because the upstream refused the request.
        unmended: the offer before a recently refused field was left out; None: no field was left out.
        is_lasting: returns whether later requests would be refused in the same words too; None: never.
        lasting_refusal: the words of such a refusal, if the body was changed because of it; else None.
        turns: the numbers of turns that were restored, carried, lost or mended; numbers of 0 are left out.
    """

    written: Sequence[Written] | None = None
    lost: tuple[str, ...] = ()
    tap: ConversationTap | None = None
    taps: tuple[EventTap, ...] = ()
    answers: bool = False
    new_recorder: Callable[[], TurnRecorder] | None = None
    turns: Mapping[str, int] = _NO_TURNS
    mend: Mend | None = None
    is_mended: bool = False
    unmended: Offer | None = None
    is_lasting: Callable[[str], bool] | None = None
    lasting_refusal: str | None = None

    @property
    def asks_for_usage(self) -> bool:
        """Whether the upstream is asked for the usage of its stream."""
        return asks_for_usage(self.written[-1].body if self.written else None)


NO_OFFER: Final = Offer()
"""The offer that forwards the client's body unchanged."""
