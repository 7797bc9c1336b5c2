"""Keeps the state of one run for the readers of its stream: ids, open text and known references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.codec.coerce import meta_of, text_of
from streamweir.codec.families.ragflow_citations import NewReferences
from streamweir.events import Event, Meta
from streamweir.ids import short_id

__all__ = ["Run"]


class Run:
    """The state of one run.

    Attributes:
        begun: whether a frame has been read; never cleared.
        has_text: whether text of the answer has been read; never cleared.
        text_open: whether a message is open: set by a text, cleared by the end of its message.
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
        """Remember the ids in a frame; frames without ids belong to the same run."""
        ids = self._ids
        for name, value in (("session_id", session_id), ("message_id", message_id), ("run_id", task_id)):
            if value is None or value == ids.get(name):
                continue
            if isinstance(value, str | int) and text_of(value):
                ids[name] = short_id(text_of(value))
                self._meta = self._meta_of_ids()

    def has_ids(self, session_id: Any, message_id: Any) -> bool:
        """Return whether `note_answer` would change nothing."""
        ids = self._ids
        is_known = session_id is None or session_id == ids.get("session_id")
        return is_known and (message_id is None or "message_id" in ids)

    def _meta_of_ids(self) -> Meta | None:
        """Return the ids as metadata; the Go server's task id is left out, as it equals the session id."""
        ids = dict(self._ids)
        if ids.get("run_id") == ids.get("session_id"):
            ids.pop("run_id", None)
        return meta_of(**ids)

    def meta(self, *, extra: Mapping[str, Any] | None = None, **fields: Any) -> Meta | None:
        """Return the ids of the run, with `fields` and `extra` added."""
        if not extra and not fields:
            return self._meta
        return meta_of(**(self._meta or {}), **fields, extra=dict(extra) if extra else None)

    def note_answer(self, *, session_id: Any = None, message_id: Any = None) -> None:
        """Remember the ids of a stream that is one message; the first message id is kept."""
        self.note_ids(session_id=session_id, message_id=self._ids.get("message_id") or message_id)

    @property
    def session_id(self) -> str | None:
        """The latest session id of the server; None if it has sent none."""
        return self._ids.get("session_id")

    def reference(self, value: Any) -> Iterator[Event]:
        """Yield the citations of a reference that have not been sent before."""
        return self._references.read(value, self.meta())
