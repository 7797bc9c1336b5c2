"""Connects the stream of an attempt with the recorder of its turn."""

from __future__ import annotations

from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.turns.turn_recorder import TurnRecorder

__all__ = ["open_recorder"]


def open_recorder(offer: Offer, stream: StreamNormalizer) -> TurnRecorder | None:
    """Return the recorder of the answer to `offer`, which follows `stream`; None if no turn is kept.

    The pipeline holds questions to the client back until the end: the turn is stored before a client that was
    asked can go on.
    """
    if offer.new_recorder is None:
        return None
    recorder = offer.new_recorder()
    stream.collect(recorder.collector)
    stream.pipeline.add_sink(recorder)
    stream.pipeline.questions.is_on = True
    return recorder
