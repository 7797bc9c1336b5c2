"""Connects the stream of an attempt with the recorder of its turn."""

from __future__ import annotations

from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.turns.turn_recorder import TurnRecorder

__all__ = ["open_recorder"]


def open_recorder(offer: Offer, stream: StreamNormalizer) -> TurnRecorder | None:
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
