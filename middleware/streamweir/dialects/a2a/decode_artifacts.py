"""Reads artifacts: appended pieces, later states that replace earlier ones, and repetitions in a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, leftover, meta_of, text_of
from streamweir.dialects.a2a.decode_parts import Part, part_events, parts_of, text_of_parts
from streamweir.events import Content, Event, Meta, ids_of
from streamweir.ids import RecentIds
from streamweir.jsontext import json_digest

__all__ = ["Artifacts"]

_ARTIFACT: Final = ("artifactId", "parts")
_NAMED_ONCE: Final = ("name", "description")


class Artifacts:
    """The artifacts of one stream by their ids, and the data that have arrived in any way.

    Args:
        room: the number of bytes, roughly, that may be remembered.
    """

    def __init__(self, room: int) -> None:
        self._known: RecentIds[None] = RecentIds(room // 2)
        self._data: RecentIds[None] = RecentIds(room // 2)

    def noted(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Yield `parts`, and remember those that are no texts, to find repetitions of them."""
        for part in parts:
            if part.text is None:
                self._is_new(part)
            yield part

    def new_data(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Yield the parts that are no text and have not arrived before."""
        return (part for part in parts if part.text is None and self._is_new(part))

    def _is_new(self, part: Part) -> bool:
        digest = json_digest(part.fields).hex()
        if digest in self._data:
            return False
        self._data.add(digest, None)
        return True

    def note_id(self, artifact: Mapping[str, Any]) -> None:
        """Remember that an artifact has begun."""
        self._known.add(text_of(artifact.get("artifactId")), None)

    def note(self, artifact: Mapping[str, Any], *, is_nested: bool) -> None:
        """Remember an artifact of an earlier turn, so that its repetition is left out."""
        self.note_id(artifact)
        for _ in self.noted(parts_of(artifact, is_nested=is_nested)):
            pass

    def pieces(
        self, artifact: Mapping[str, Any], meta: Meta | None, *, is_last: bool, is_nested: bool
    ) -> Iterable[Event]:
        """Return the events of the first or the next piece of an artifact."""
        artifact_id, name = text_of(artifact.get("artifactId")), text_of(artifact.get("name"))
        meta = _meta_of(artifact, meta, is_known=artifact_id in self._known)
        self._known.add(artifact_id, None)
        parts = self.noted(parts_of(artifact, is_nested=is_nested))
        events = part_events(parts, meta, name=name)
        return _completed(events) if is_last else events

    def snapshot(
        self, artifact: Mapping[str, Any], meta: Meta | None, *, is_last: bool = False, is_nested: bool
    ) -> Iterator[Event]:
        """Yield the new part of a whole artifact, which replaces the artifact's earlier states."""
        if text_of(artifact.get("artifactId")) not in self._known:
            yield from self.pieces(artifact, meta, is_last=is_last, is_nested=is_nested)
            return
        meta = _meta_of(artifact, meta, is_known=True)
        if text := text_of_parts(parts_of(artifact, is_nested=is_nested)):
            yield Content(text, whole="snapshot", is_complete=True if is_last else None, meta=ids_of(meta))
        new = self.new_data(parts_of(artifact, is_nested=is_nested))
        yield from part_events(new, meta, name=text_of(artifact.get("name")))


def _meta_of(artifact: Mapping[str, Any], meta: Meta | None, *, is_known: bool) -> Meta | None:
    known = (*_ARTIFACT, *_NAMED_ONCE) if is_known else _ARTIFACT
    ids = meta_of(message_id=artifact.get("artifactId"))
    return and_extra({**(meta or {}), **(ids or {})}, leftover(artifact, known))


def _completed(events: Iterable[Event]) -> Iterator[Event]:
    """Mark the last text as the end of its message, and yield parts of other kinds after it."""
    waiting: list[Event] = []
    for event in events:
        if isinstance(event, Content):
            yield from waiting
            waiting = []
        if waiting or isinstance(event, Content):
            waiting.append(event)
        else:
            yield event
    for event in waiting:
        is_text = isinstance(event, Content)
        yield msgspec.structs.replace(event, is_complete=True) if is_text else event
