"""Stores the turn and the conversation of one answer, before the client can go on."""

from __future__ import annotations

from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.requests.conversation_tap import ConversationTap
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.settling import Settling
from streamweir_gateway.turns.turn_recorder import TurnRecorder

__all__ = ["KeptAnswer", "kept_answer"]


class KeptAnswer:
    """One answer of which something is stored.

    Attributes:
        holds_end: whether the last frame of the answer waits in the sink until the answer is stored.

    Args:
        offer: the request that is answered.
        stream: translates the answer.
        shared: the tap that shares the conversation with replicas; None without replicas.
    """

    __slots__ = ("_conversation", "_recorder", "_settling", "_stream", "holds_end")

    def __init__(self, offer: Offer, stream: StreamNormalizer, shared: ConversationTap | None) -> None:
        self.holds_end = bool(offer.taps)
        self._stream = stream
        self._recorder = _open_recorder(offer, stream)
        self._settling: list[ConversationTap | Settling] = [] if shared is None else [shared]
        self._settling += (tap for tap in offer.taps if isinstance(tap, Settling))
        self._conversation = shared
        """The tap that shares the conversation with replicas; None without replicas and after it is stored.
        """

    @property
    def is_due(self) -> bool:
        """Whether something has to be stored before the next bytes are sent."""
        if self._recorder is not None and self._recorder.is_due:
            return True
        return self._conversation is not None and self._has_due_conversation

    @property
    def _has_due_conversation(self) -> bool:
        """Whether the next bytes hold a question, or the end of a stream whose frames are copied."""
        is_due = self._conversation is not None and self._conversation.is_due
        return is_due or self._stream.is_behind_end

    async def store(self) -> None:
        """Store the turn and the conversation, if the next bytes allow the client to continue."""
        if self._recorder is not None and self._recorder.is_due:
            await self._recorder.store()
        if self._conversation is not None and self._has_due_conversation:
            await self._conversation.settle()
            if self._stream.is_behind_end:
                self._conversation = None

    async def settle(self, record: RequestRecord) -> None:
        """Store the end of a turn that ended well, before the last bytes are sent; forget a failed turn.

        When this returns, the taps of the offer have stored the conversation and the history.

        Args:
            record: the record of the request, which says whether the turn is in the store.
        """
        if self._recorder is not None:
            await self._recorder.settle()
            record.keeps_turn = self._recorder.has_kept
        for tap in self._settling:
            await tap.settle()


def kept_answer(offer: Offer, stream: StreamNormalizer) -> KeptAnswer | None:
    """Return the object that stores `stream`, the answer to `offer`; None if nothing of it is stored."""
    tap = offer.tap
    shared = tap if tap is not None and tap.is_shared else None
    if offer.new_recorder is None and not offer.taps and shared is None:
        return None
    return KeptAnswer(offer, stream, shared)


def _open_recorder(offer: Offer, stream: StreamNormalizer) -> TurnRecorder | None:
    """Return the recorder that follows `stream`, the answer to `offer`; None if turns are not stored.

    The pipeline holds questions to the client back until the end, so that the turn is stored before the
    client can answer.
    """
    if offer.new_recorder is None:
        return None
    recorder = offer.new_recorder()
    stream.collect(recorder.collector)
    stream.pipeline.add_sink(recorder)
    stream.pipeline.questions.is_on = True
    return recorder
