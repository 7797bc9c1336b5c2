"""Events that the host application puts into a stream as text, with a mark that only this process can write.

    data: {"streamweir":"<32 random hex digits>","type":"warning","data":{...},"metadata":{...}}

The mark differs in every process and is the first key of the JSON text (`process_token`). A reader that
`takes_marked` returns such an event without its mark, in a stream of any dialect. An event of the same shape
without the mark does not count. The mark is looked for in two places: in a read that is only this event
(`whole_event`), before framing, because the application may be in the middle of relaying another event; and
in a frame (`event_in`), because the network may have cut the text, or a library framed it again.

Source: the library contract, section 2.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from streamweir.codec.process_token import TOKEN_KEY, TOKEN_PREFIX
from streamweir.codec.standard_events import read_standard
from streamweir.errors import MalformedEvent
from streamweir.events import Error, Event, Warning
from streamweir.jsontext import parse_json

__all__ = ["MARKED_STARTS", "SSE_PREFIX", "MarkedEvent", "event_in", "whole_event"]

SSE_PREFIX: Final = b"data: "
MARKED_STARTS: Final = (SSE_PREFIX + TOKEN_PREFIX, TOKEN_PREFIX)
"""The beginnings of a read that is a marked event."""


class MarkedEvent(NamedTuple):
    """A marked event in a frame, and the bytes before it: half of another event, or nothing."""

    event: Event
    before: bytes


def whole_event(data: bytes) -> Event | None:
    """Return the marked event in `data`; None if `data` is anything else, or more than one event."""
    if not data.startswith(MARKED_STARTS):
        return None
    line, _, rest = data.partition(b"\n")
    return None if rest.strip() else _read(line.removeprefix(SSE_PREFIX))


def event_in(data: bytes) -> MarkedEvent | None:
    """Return the marked event at the end of a frame's data; None if there is none."""
    start = data.find(TOKEN_PREFIX)
    if start < 0:
        return None
    event = _read(data[start:].partition(b"\n")[0])
    return None if event is None else MarkedEvent(event, data[:start].removesuffix(SSE_PREFIX).strip())


def _read(text: bytes) -> Event | None:
    try:
        message = parse_json(text)[0]
    except MalformedEvent:
        return None
    event = read_standard({key: value for key, value in message.items() if key != TOKEN_KEY})
    if isinstance(event, Error | Warning):
        event.for_users = True
    return event
