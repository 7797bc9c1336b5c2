"""Checks the events of decoders from other packages, so that a stream holds only valid events.

Stages and encoders rely on the classes in `events`, whose constructors check no values. So the events of such
a decoder are checked first. An invalid event counts as a frame that could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

from streamweir.codec.coerce import and_extra, meta_of, milliseconds
from streamweir.codec.event_validation import shaped_event
from streamweir.errors import EventValidationError
from streamweir.events import EVENT_TYPES, META_FIELDS, META_TIMES, Error, Event, Meta
from streamweir.framing import Frame

__all__ = ["checked_events", "decoded_event"]

_CLASSES: Final = frozenset(EVENT_TYPES.values())
_META: Final = frozenset({*META_FIELDS, "private"})
_OURS: Final = frozenset({"request_id", "timestamp", "sequence"})


def checked_events(decode: Callable[[Frame], Iterable[Event]], frame: Frame) -> Iterator[Event]:
    """Yield the events that `decode` returns for `frame`, checked.

    Raises:
        EventValidationError: a returned object is no event, or has a value that no event can have.
    """
    return map(decoded_event, decode(frame))


def decoded_event(event: object) -> Event:
    """Return `event` in the form that stages expect: with metadata of right types, unknown fields as extra.

    Raises:
        EventValidationError: `event` is no event, or has a value that no event can have.
    """
    cls = type(event)
    if cls not in _CLASSES:
        raise EventValidationError("event", f"must be one of streamweir.events, not {cls.__name__}")
    known = cast("Event", event)
    fields = {name: getattr(known, name) for name in known.__struct_fields__ if name != "meta"}
    checked = shaped_event(type(known), fields)
    checked.meta = _settled(known.meta, type(known))
    return checked


def _settled(meta: Any, cls: type[Event]) -> Meta | None:
    if meta is None:
        return None
    if not isinstance(meta, dict):
        raise EventValidationError("meta", f"must be a mapping, not {type(meta).__name__}")
    known = {name: value for name, value in meta.items() if name in _META}
    own = meta_of(**{**known, **{name: milliseconds(known.get(name)) for name in META_TIMES}})
    if cls is Error:
        return own
    foreign = {name: value for name, value in meta.items() if name not in _META and name not in _OURS}
    return and_extra(own, foreign)
