"""The requests to each upstream of an endpoint for one request of a client.

Source: the request contract, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamweir.requests.openai_chat import asks_for_usage
from streamweir.requests.sides import Mend
from streamweir.requests.written import Written
from streamweir.translation.sink import EventTap
from streamweir_gateway.requests.conversation_tap import ConversationTap
from streamweir_gateway.turns.turn_recorder import TurnRecorder

__all__ = ["NO_OFFER", "Offer"]


@dataclass(frozen=True, slots=True)
class Offer:
    """The requests to one upstream.

    Attributes:
        written: one request after the other, the last for the stream; None: the client's body is forwarded
            unchanged.
        lost: the names of fields of the request that the upstream cannot take.
        tap: notes the conversation and the questions in the answer of the upstream.
        taps: follow the answer too, which is stored before the client gets its end.
        answers: the request answers a question of a run, which may go on in the connection that asked.
        new_recorder: makes the recorder that stores the turn of one answer; None: no turn is kept.
        mend: changes the body after a refusal because of reasoning; None: it cannot be changed, or has been.
        is_mended: the upstream has refused the request before its body was changed.
        unmended: the offer before a field was left out that the upstream has lately refused; None: nothing
            was left out.
        is_lasting: returns whether a refusal, given its words, would meet later requests too; None: never.
        lasting_refusal: the words of such a refusal, because of which the body was changed; None otherwise.
        turns: how many turns were restored, carried, lost or mended; those that are 0 are left out.
    """

    written: Sequence[Written] | None = None
    lost: tuple[str, ...] = ()
    tap: ConversationTap | None = None
    taps: tuple[EventTap, ...] = ()
    answers: bool = False
    new_recorder: Callable[[], TurnRecorder] | None = None
    turns: Mapping[str, int] = field(default_factory=dict)
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
"""The client's body is forwarded unchanged."""
