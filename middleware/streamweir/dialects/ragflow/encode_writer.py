"""The common parts of the writers of the three forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streamweir.codec.base import NO_EXTRA, extra_in
from streamweir.codec.families.ragflow_citations import write_reference
from streamweir.events import Event, Reference, SessionStart, Stamp
from streamweir.jsontext import json_to_keep, parse_json

__all__ = ["Message", "Writer"]

Message = dict[str, Any]


class Writer:
    """Turns the events of one valid stream into the JSON messages of one form.

    Args:
        lost: counts events that the form has no field for.
        room: the number of bytes that may be kept; see `Encoder`.

    Attributes:
        writes_extra: whether RAGFlow's own fields that arrived with an event may be written; see `Encoder`.
    """

    can_replace = False
    time_key: str | None = "created_at"
    """The key of the seconds in the message of a text; empty if the message has no time.

    None if the message of a text repeats the earlier texts.
    """

    def __init__(self, lost: Counter[str], room: int) -> None:
        self.lost = lost
        self.room = room
        self.writes_extra = False
        self._session_id: str | None = None
        self._message_id: str | None = None
        self._answer_id: str | None = None
        self._reference = b""
        """The JSON of citations that have not been written yet, and of the fields next to them."""

    def write(self, event: Event, stamp: Stamp) -> Iterable[Message]:
        """Return the messages of `event`."""
        raise NotImplementedError

    def close(self) -> Iterator[Message | None]:
        """Yield the messages after the last event; None is `[DONE]`."""
        yield None

    def note(self, event: Event) -> None:
        """Remember the ids in `event`."""
        meta = event.meta or {}
        given = event.session_id if isinstance(event, SessionStart) else None
        self._session_id = given or meta.get("session_id") or self._session_id
        self._message_id = meta.get("message_id") or self._message_id

    def one_message_id(self, stamp: Stamp) -> str:
        """Return the message id of a stream that is one message: the first known id."""
        self._answer_id = self._answer_id or self._message_id or stamp.request_id
        return self._answer_id

    def extra_of(self, event: Event) -> Mapping[str, Any]:
        """Return the fields of RAGFlow that arrived with `event`; empty if it was read in another dialect."""
        return extra_in(event) if self.writes_extra else NO_EXTRA

    def lose(self, event: Event) -> None:
        """Count `event` as lost: this form has no place for it."""
        self.lost[event.type.replace("_", " ")] += 1

    def _cite(self, event: Reference) -> None:
        """Keep the citations for the last message, which holds them."""
        kept = json_to_keep([event.citations, {**self.extra_of(event)}])
        if len(kept) > self.room // 2:
            self.lose(event)
            return
        self._reference = kept if event.citations else b""

    def _take_reference(self, *, keyed: bool) -> Message | None:
        """Return the reference that has not been written yet, and forget it; None if there is none."""
        if not self._reference:
            return None
        citations, extra = parse_json(self._reference)[0]
        self._reference = b""
        return write_reference(citations, extra, keyed=keyed)
