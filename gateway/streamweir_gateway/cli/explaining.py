"""Writes a line for each frame of a stream: the rule that takes the frame, and its events.

Source: the dialect-file contract, section 1 (`convert --explain`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from streamweir import Decoder, Event, Frame
from streamweir.codec.dialect import Dialect
from streamweir.errors import MalformedEvent

__all__ = ["explained"]


def explained(dialect: Dialect, write: Callable[[str], object]) -> Dialect:
    """Return a copy of `dialect` that explains each frame when the frame is read.

    Args:
        dialect: a dialect with a decoder.
        write: gets `NUMBER TAKER: types of the events`. TAKER is the place of a rule, or the name of a
            decoder without rules.
    """
    decoder = dialect.decoder
    assert decoder is not None
    numbers = count(1)

    def decode(self: Decoder, frame: Frame) -> Iterator[Event]:
        events: list[Event] = []
        problem: MalformedEvent | None = None
        try:
            for event in decoder.decode(self, frame):
                events.append(event)  # noqa: PERF402 - what came before a problem counts
        except MalformedEvent as error:
            problem = error
        types = [event.type for event in events] + (["malformed"] if problem else [])
        taker = getattr(self, "taker", dialect.name)
        write(f"{next(numbers)} {taker}: {', '.join(types)}".rstrip())
        yield from events
        if problem is not None:
            raise problem

    # a frame that is read by its form would not be explained
    attributes = {"decode": decode, "text_fields": None}
    return Dialect(dialect.name, type(decoder.__name__, (decoder,), attributes), dialect.encoder)
