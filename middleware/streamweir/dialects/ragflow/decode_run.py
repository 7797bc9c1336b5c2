"""State that the readers of one stream share: the ids of the run and what has been seen of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.codec.coerce import meta_of, text_of
from streamweir.codec.families.ragflow_citations import NewReferences
from streamweir.events import Event, Meta
from streamweir.ids import short_id

__all__ = ["Run"]


class Run:
    """One run, as far as it has been read.

    Attributes:
        begun: something has been read.
        has_text: some of the answer has come.
        text_open: text has come since the last message ended.
    """

    def __init__(self) -> None:
        self.begun = False
        self.has_text = False
        self.text_open = False
        self._ids: dict[str, str] = {}
        self._meta: Meta | None = None
        """The metadata of events without metadata of their own."""
        self._references = NewReferences()

    def note_ids(self, *, session_id: Any = None, message_id: Any = None, task_id: Any = None) -> None:
        """Remember the ids that a frame gives; frames without them belong to the same run."""
        given = {"session_id": session_id, "message_id": message_id, "run_id": task_id}
        for name, value in given.items():
            if value != self._ids.get(name) and isinstance(value, str | int) and text_of(value):
                self._ids[name] = short_id(text_of(value))
                self._meta = self._meta_of_ids()

    def _meta_of_ids(self) -> Meta | None:
        """The Go server's task id is only another name of the session."""
        ids = dict(self._ids)
        if ids.get("run_id") == ids.get("session_id"):
            ids.pop("run_id", None)
        return meta_of(**ids)

    def meta(self, *, extra: Mapping[str, Any] | None = None, **fields: Any) -> Meta | None:
        """The ids of the run with `fields`."""
        if not extra and not fields:
            return self._meta
        return meta_of(**(self._meta or {}), **fields, extra=dict(extra) if extra else None)

    def note_answer(self, *, session_id: Any = None, message_id: Any = None) -> None:
        """Remember the ids of a stream that is one message, whatever its later frames call it."""
        self.note_ids(session_id=session_id, message_id=self._ids.get("message_id") or message_id)

    @property
    def session_id(self) -> str | None:
        """The session that the server named last."""
        return self._ids.get("session_id")

    def reference(self, value: Any) -> Iterator[Event]:
        """Yield the citations of a reference, unless it says nothing or nothing new."""
        return self._references.read(value, self.meta())
