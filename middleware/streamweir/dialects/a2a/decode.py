"""Reads the events of a task: its states, artifacts in pieces, messages and questions to a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import and_extra, custom, leftover, meta_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.a2a.decode_adk import error_code
from streamweir.dialects.a2a.decode_artifacts import Artifacts
from streamweir.dialects.a2a.decode_envelope import (
    MESSAGE,
    envelope_of,
    failure_of,
    is_agents,
    objects_in,
    state_of,
)
from streamweir.dialects.a2a.decode_parts import Part, part_events, parts_of, text_of_parts
from streamweir.dialects.a2a.decode_progress import Progress
from streamweir.dialects.a2a.decode_questions import INTERRUPT, interrupts_of, questions_of
from streamweir.dialects.a2a.decode_steps import step_events
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    State,
    Status,
    ids_of,
)
from streamweir.framing import Frame
from streamweir.ids import short_id

__all__ = ["A2aDecoder"]

Fields = Mapping[str, Any]
_End = Literal["completed", "cancelled", "suspended"]

_ENDS: Final[Mapping[str, _End]] = {
    "completed": "completed",
    "canceled": "cancelled",
    "input-required": "suspended",
    "auth-required": "suspended",
}
_STATES: Final[Mapping[str, State]] = {
    "submitted": "started",
    "working": "running",
    "completed": "finished",
    "canceled": "finished",
    "input-required": "suspended",
    "auth-required": "suspended",
}
_FAILURES: Final[Mapping[str, int | None]] = {"failed": None, "rejected": 422}
"""The HTTP status with the same meaning, by the state of a failed task."""

_MOST_ASKED: Final = 100
"""The most open questions whose answers are reported."""

_TASK: Final = ("kind", "id", "contextId", "status", "artifacts", "history")
_STATUS: Final = frozenset({"state", "message", "timestamp"})
_OF_UNKNOWN_STATUS: Final = _STATUS - {"state"}
_STATUS_UPDATE: Final = frozenset({"kind", "taskId", "contextId", "status", "final"})
_ARTIFACT_UPDATE: Final = frozenset({"kind", "taskId", "contextId", "artifact", "append", "lastChunk"})


class A2aDecoder(Decoder):
    """Reads the answer to one message. A final state is soft evidence of the end: the task may follow."""

    option_values: ClassVar = {"progress": ("thinking", "content", "status"), "version": ("1.0", "0.3")}
    text_fields: ClassVar = TextFields(
        texts=(
            ("result", "artifactUpdate", "artifact", "parts", 0, "text"),
            ("artifactUpdate", "artifact", "parts", 0, "text"),
            ("result", "artifact", "parts", 0, "text"),
            ("result", "parts", 0, "text"),
            ("result", "status", "message", "parts", 0, "text"),
            ("result", "statusUpdate", "status", "message", "parts", 0, "text"),
            ("statusUpdate", "status", "message", "parts", 0, "text"),
        ),
        ignored=(
            ("result", "status", "timestamp"),
            ("result", "statusUpdate", "status", "timestamp"),
            ("statusUpdate", "status", "timestamp"),
        ),
        ids=(
            ("result", "status", "message", "messageId"),
            ("result", "statusUpdate", "status", "message", "messageId"),
            ("statusUpdate", "status", "message", "messageId"),
        ),
    )

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._meta: Meta | None = None
        """The ids as metadata."""
        self._state = ""
        self._end: _End | None = None
        self._has_contents = False
        self._has_answered = False
        self._asked: list[Interaction] = []
        """The open questions. Their ends are reported when the run continues."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for messages of a task, and a lower one for an error of any JSON-RPC."""
        del event
        if envelope_of(fields) is not None:
            return 0.95 if "jsonrpc" in fields else 0.9
        match fields:
            case {"jsonrpc": "2.0", "error": {"code": int()}}:
                return 0.8
            case {"error": {"details": [{"domain": "a2a-protocol.org"}, *_]}}:
                return 0.95
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if not frame.data.strip():
            return ()
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        return self._read(message)

    def accepts_thoughts(self, ids: Sequence[str], texts: Sequence[str]) -> int:
        """Note reports; stop before one that was sent before, or that repeats the report before it."""
        return self._progress.accept(ids, texts)

    def close(self) -> Iterable[Event]:
        """Return the end: a body is whole if a final state has arrived or the agent waits for an answer."""
        return () if self._end is None else (SessionEnd(self._end),)

    def _read(self, message: dict[str, Any]) -> Iterator[Event]:
        found = envelope_of(message)
        if found is None:
            yield failure_of(message) or custom("message", message)
            return
        yield from self._session(found.kind, found.value)
        meta = and_extra(self._meta, found.beside)
        yield from _READERS[found.kind](self, found.value, meta)

    @cached_property
    def _artifacts(self) -> Artifacts:
        return Artifacts(self.room // 8)

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self.option("progress"), self.room // 8)

    def _session(self, kind: str, value: Fields) -> Iterator[Event]:
        """Yield the start of the session once its ids are known."""
        context, task = value.get("contextId"), value.get("id" if kind == "task" else "taskId")
        found = {"thread_id": context, "run_id": task}
        new = {name: short_id(item) for name, item in found.items() if isinstance(item, str) and item}
        if new.items() <= self._ids.items():
            return
        is_first = "thread_id" not in self._ids
        self._ids |= new
        self._meta = meta_of(**self._ids)
        if is_first and "thread_id" in self._ids:
            yield SessionStart(session_id=self._ids["thread_id"], meta=self._meta)

    # Tasks

    def _task(self, task: Fields, meta: Meta | None) -> Iterator[Event]:
        """Read a whole task: the first begins the run, the last repeats it, a single one is the whole run."""
        status = _object(task.get("status"))
        is_over = state_of(status) in _STATES.keys() - {"submitted", "working"}
        history = objects_in(task.get("history"))
        self._has_contents = self._has_contents or any("content" in message for message in history)
        ids = self._meta
        is_earlier = not (is_over or self._state) and sum(not is_agents(item) for item in history) > 1
        for artifact in objects_in(task.get("artifacts")):
            if is_earlier:
                self._artifacts.note(artifact, is_nested=self._is_nested)
            else:
                yield from self._artifact(artifact, ids)
        if is_over and not (self._has_answered or status.get("message")):
            yield from self._last_words(history, ids)
        if state_of(status) in _FAILURES and history and is_agents(history[-1]):
            status = {"message": history[-1], **status}
        yield from self._status(status, and_extra(meta, leftover(task, _TASK)))

    def _last_words(self, history: list[dict[str, Any]], meta: Meta | None) -> Iterator[Event]:
        """Yield the agent's last message, if only the history of the task holds the answer."""
        asked = max((at for at, message in enumerate(history) if not is_agents(message)), default=-1)
        for message in history[asked + 1 :]:
            yield from self._answer(message, meta)

    # States

    def _status_update(self, update: Fields, meta: Meta | None) -> Iterator[Event]:
        rest = leftover(update, _STATUS_UPDATE)
        steps = step_events(rest, meta)
        yield from steps
        status = _object(update.get("status"))
        yield from self._status(status, meta if steps else and_extra(meta, rest), update.get("metadata"))
        if update.get("final") is True:
            self._end, self.complete, self.pauses = self._end or "completed", True, False

    def _status(self, status: Fields, meta: Meta | None, beside: Any = None) -> Iterator[Event]:
        """Read a state, which may be sent more than once, and the message in it."""
        state, message = state_of(status), _object(status.get("message"))
        code = error_code(beside, message.get("metadata"))
        if state in _FAILURES or (code and message):
            yield upstream_error(
                text_of_parts(self._parts(message)), code=code or None, status=_FAILURES.get(state), meta=meta
            )
            return
        changes = state != self._state
        self._state, self._end = state, _ENDS.get(state)
        if self._end != "suspended":
            yield from self._asked
            self._asked.clear()
        self.complete = self._end is not None and state != "auth-required"
        self.pauses = self._end == "suspended"
        meta = and_extra(meta, leftover(status, _STATUS if state in _STATES else _OF_UNKNOWN_STATUS))
        if (changes and state in _STATES) or (meta and "extra" in meta):
            yield Status("workflow", _STATES.get(state, "running"), meta=meta)
        ids = self._meta
        if self._end == "suspended":
            if changes:
                yield from self._questions(state, message, ids)
        elif self._end is not None:
            yield from self._repetition(message, MESSAGE, ids) if is_agents(message) else ()
        elif message and is_agents(message):
            yield from self._progress.read(message, ids, is_nested=self._is_nested, beside=beside)

    def _questions(self, state: str, message: Fields, ids: Meta | None) -> Iterable[Event]:
        if self._asked and not message:
            return ()
        return self._ask(questions_of(state, message, self._ids, ids, is_nested=self._is_nested))

    def _ask(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield `events`, and remember the questions among them."""
        ids = self._meta
        for event in events:
            if isinstance(event, Interaction) and len(self._asked) < _MOST_ASKED:
                self._asked.append(Interaction(event.interaction_id, event.kind, "resolved", meta=ids))
            yield event

    def _repetition(self, holder: Fields, known: Iterable[str], meta: Meta | None) -> Iterator[Event]:
        """Yield the text of a message or an artifact, unless it was sent before under another id."""
        self._has_answered = True
        if text := text_of_parts(self._parts(holder)):
            yield Content(text, whole="repeat", meta=ids_of(meta))
        meta = and_extra(meta, leftover(holder, known))
        yield from part_events(self._artifacts.new_data(self._parts(holder)), meta)

    # Artifacts and messages

    def _artifact_update(self, update: Fields, meta: Meta | None) -> Iterable[Event]:
        artifact = _object(update.get("artifact"))
        meta = and_extra(meta, leftover(update, _ARTIFACT_UPDATE))
        is_last = update.get("lastChunk") is True
        if update.get("append") is True:
            self._has_answered = True
            return self._artifacts.pieces(artifact, meta, is_last=is_last, is_nested=self._is_nested)
        return self._artifact(artifact, meta, is_last=is_last)

    def _artifact(self, artifact: Fields, meta: Meta | None, *, is_last: bool = False) -> Iterable[Event]:
        """Read a whole artifact. If reports are part of the answer, the first artifact repeats them."""
        if artifact.get("name") == INTERRUPT:
            return self._ask(interrupts_of(artifact, self._ids, meta, is_nested=self._is_nested))
        if self._progress.has_answered and not self._has_answered:
            self._artifacts.note_id(artifact)
            return self._repetition(artifact, ("artifactId", "parts"), meta)
        self._has_answered = True
        return self._artifacts.snapshot(artifact, meta, is_last=is_last, is_nested=self._is_nested)

    def _message(self, message: Fields, meta: Meta | None) -> Iterator[Event]:
        """Yield the events of a message. If no task has arrived, the message ends the stream."""
        if not is_agents(message):
            return
        if not self._state:
            self._end, self.complete = "completed", True
        yield from self._answer(message, meta)

    def _answer(self, message: Fields, meta: Meta | None) -> Iterator[Event]:
        self._has_answered = True
        ids = meta_of(message_id=message.get("messageId"))
        meta = and_extra({**(meta or {}), **(ids or {})}, leftover(message, MESSAGE))
        parts = self._artifacts.noted(self._parts(message))
        reasons = _object(message.get("metadata")).get("agno_content_category") == "reasoning"
        yield from part_events(parts, meta, is_progress=reasons)

    @property
    def _is_nested(self) -> bool:
        """Whether data are nested one level deeper, as in the HTTP+JSON form of 0.3."""
        return self._has_contents or self.option("version") == "0.3"

    def _parts(self, holder: Fields) -> Iterator[Part]:
        return parts_of(holder, is_nested=self._is_nested)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_READERS: Final[Mapping[str, Callable[[A2aDecoder, Fields, Meta | None], Iterable[Event]]]] = {
    "task": A2aDecoder._task,
    "status-update": A2aDecoder._status_update,
    "artifact-update": A2aDecoder._artifact_update,
    "message": A2aDecoder._message,
}
