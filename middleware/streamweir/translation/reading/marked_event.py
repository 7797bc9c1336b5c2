"""Events that the host application puts into a stream as text, known by a mark that nobody else can write.

    data: {"streamweir":"<32 random hex digits>","type":"warning","data":{...},"metadata":{...}}

The mark is made anew in every process and is the first key of the JSON text (`process_token`). A reader that
`takes_marked` gives such an event as it is, whatever dialect surrounds it, without the mark; the shape of an
event proves nothing. It is looked for in two places: in a piece that is nothing else, before framing
(`whole_event`), so that it may come while the application is in the middle of relaying another event; and in
a frame (`event_in`), where the network has cut the text or another library has framed it once more.

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
"""What a piece begins with that is a marked event; asked of every read."""


class MarkedEvent(NamedTuple):
    """A marked event, found in a frame, and what stood before it there: half an event, if anything."""

    event: Event
    before: bytes


def whole_event(data: bytes) -> Event | None:
    """Return the marked event that `data` is, None if it is anything else or more than one."""
    if not data.startswith(MARKED_STARTS):
        return None
    line, _, rest = data.partition(b"\n")
    return None if rest.strip() else _read(line.removeprefix(SSE_PREFIX))


def event_in(data: bytes) -> MarkedEvent | None:
    """Return the marked event that the data of a frame ends with, None if there is none."""
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
