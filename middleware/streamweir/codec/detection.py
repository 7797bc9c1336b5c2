"""What the first bytes of a body say, parsed once for all dialects that look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.errors import StreamweirError
from streamweir.framing import SniffingParser

__all__ = ["HeadMessage", "best_score", "head_messages"]

_HEAD_LIMIT = 8 << 20


class HeadMessage(NamedTuple):
    """One of the first events of a body: its SSE event name and its JSON value (None: no JSON)."""

    event: str | None
    value: Any


@lru_cache(maxsize=2)  # asked by one dialect after the other, and then never again
def head_messages(head: bytes) -> tuple[HeadMessage, ...]:
    """Return the events in `head`, an unfinished last one included if it can be read. Never raises."""
    parser = SniffingParser(_HEAD_LIMIT)
    messages = []
    try:
        for frame in chain(parser.feed(head), parser.finish()):
            if TOKEN_PREFIX in frame.data:  # ours: it says nothing about the dialect around it
                continue
            try:
                messages.append(HeadMessage(frame.event, frame.json()))
            except StreamweirError:
                messages.append(HeadMessage(frame.event, None))
    except StreamweirError:
        pass
    return tuple(messages)


def best_score(head: bytes, score: Callable[[Mapping[str, Any], str | None], float]) -> float:
    """Return the best `score(message, event name)` over the JSON objects in `head`; 0 if there is none."""
    return max(
        (
            score(message.value, message.event)
            for message in head_messages(head)
            if isinstance(message.value, dict)
        ),
        default=0.0,
    )
