"""Reads one message, in the specification's spelling or in AIFlowy's, and keeps the state of the stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamweir.codec.base import NO_EXTRA
from streamweir.codec.coerce import leftover, meta_of, milliseconds, same_as, text_of
from streamweir.dialects.easyflow.shared_vocabulary import DOMAINS, META_IDS
from streamweir.events import Meta, SessionEnd
from streamweir.ids import RecentIds, short_id

__all__ = ["Envelope", "Run", "is_envelope", "snake_keys"]

_DOMAIN_OF_TYPE: Final = {
    "thinking": "llm",
    "message": "llm",
    "tool_call": "tool",
    "tool_result": "tool",
    "form_request": "interaction",
    "form_cancel": "interaction",
    "status": "system",
    "error": "system",
    "done": "system",
}
_ENVELOPE: Final = frozenset(
    {
        *("protocol", "version", "domain", "type", "conversation_id", "message_id"),
        *("index", "payload", "meta", "timestamp"),
    }
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_DURATIONS: Final = ("duration_ms", "latency_ms")
_ROLES: Final = ("assistant", "tool")
_ENDS: Final = ("completed", "cancelled", "suspended", "error")
_TOKENS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_LONGEST_CAMEL: Final = 64
_ROOM: Final = 256 << 10
"""The most bytes for the ids of steps, forms and calls."""


def _snake(name: str) -> str:
    if name.islower() or len(name) > _LONGEST_CAMEL:
        return name
    return _CAMEL.sub(r"_\1", name).lower()


def snake_keys(value: Any) -> dict[str, Any]:
    """Return the fields of an object that are not empty, in snake_case; empty if `value` is no object."""
    if not isinstance(value, dict):
        return {}
    return {_snake(key): item for key, item in value.items() if item is not None}


def is_envelope(message: Mapping[str, Any]) -> bool:
    """Return whether any field of `message` shows that it is an envelope of this protocol."""
    protocol = message.get("protocol")
    return text_of(message.get("domain")).lower() in DOMAINS or (
        isinstance(protocol, str) and protocol.endswith(("flow-chat", "flowy-chat"))
    )


class Run:
    """The state of one stream's decoder.

    state       flag                                  entered by              left by
    ─────────   ───────────────────────────────────   ─────────────────────   ─────────────────────────────
    running     none of the others                    the first message
    asking      `forms` is not empty                  a form                  its answer, or `resume`
    suspended   `is_suspended`                        `suspend`               `resume`
    gone on     `is_suspended` and `went_on`          any other message       `suspend`, `resume`
    failing     `failure`                             an error that does      the next message
                                                      not end the stream

    `waits` is True while the run is asking or suspended. `pauses` is set by a question or a suspension and
    cleared by the next message: a body may end while it is set.

    Attributes:
        conversation_id: the conversation id of the latest message that has one.
        is_suspended: whether the server has suspended the run.
        forms: the forms that wait for an answer.
        paused_steps: the suspended steps of the workflow, which wait for a person or for another reason.
        pieces: whether the current message without an id has deltas; `thought`: whether the current thinking
            without an id has deltas.
        thoughts: the number of thoughts without an id that have arrived whole.
        failure, pauses, went_on: see above.
    """

    def __init__(self) -> None:
        self.conversation_id = ""
        self.is_suspended = False
        self.paused_steps: RecentIds[None] = RecentIds(_ROOM)
        self.forms: RecentIds[None] = RecentIds(_ROOM)
        self.pieces = False
        self.thought = False
        self.thoughts = 0
        self.failure = False
        self.went_on = False
        self.pauses = False
        self._calls: RecentIds[str] = RecentIds(_ROOM)
        self.usage: Counter[str] = Counter()

    @property
    def waits(self) -> bool:
        """Whether the run waits for a person."""
        return self.is_suspended or bool(self.forms)

    def resume(self) -> None:
        """Note that the run continues."""
        self.is_suspended = self.pauses = False
        self.paused_steps.clear()
        self.forms.clear()

    def suspend(self) -> None:
        """Note that the server has reported that the run waits."""
        self.is_suspended = self.pauses = True
        self.went_on = False

    def go_on(self) -> None:
        """Note output of the run, which shows that the run may have been resumed without a message."""
        self.failure = self.pauses = False
        self.went_on = self.is_suspended

    def pause(self, node_id: str) -> None:
        """Note that a step waits."""
        self.paused_steps.add(short_id(node_id), None)

    def ask(self, form_id: str) -> None:
        """Note that a form waits for its answer."""
        self.forms.add(short_id(form_id), None)
        self.pauses = True

    def is_new_call(self, call_id: str, source: str) -> bool:
        """Return False if another source (an event or the saved history) has reported this call already."""
        if not call_id:
            return True
        call_id = short_id(call_id)
        known = self._calls.get(call_id)
        if known is None:
            self._calls.add(call_id, source)
        return known in (None, source)

    def add_usage(self, fields: Mapping[str, Any]) -> None:
        """Add the tokens of one saved message."""
        self.usage.update(_tokens(fields))

    def end(self, envelope: Envelope) -> SessionEnd:
        """Return the end at `event: done`. If the run waits for a person, it is suspended, else completed."""
        source = {**envelope.payload, **envelope.open_meta}
        summary: dict[str, Any] = {**self.usage, **_tokens(source)}
        status = text_of(source.get("status")).lower()
        known = [*_TOKENS, *(("status",) if status in _ENDS else ())]
        if isinstance(finish := source.get("finish_reason"), str) and finish:
            summary["finish_reason"] = finish
            known.append("finish_reason")
        if (duration := envelope.duration()) is not None:
            summary["duration_ms"] = duration
        end = _end_status(status, self.waits and not self.went_on)
        meta = envelope.meta(*known, duration_ms=None)
        return SessionEnd(end, summary=summary or None, meta=meta)

    def suspended(self) -> SessionEnd:
        """Return the end of a run that waits for a person."""
        meta = meta_of(thread_id=self.conversation_id)
        return SessionEnd("suspended", summary=dict(self.usage) or None, meta=meta)


class Envelope:
    """A message, its words in lower case and its keys in snake_case.

    Attributes:
        event: the SSE event name in lower case, or an empty string.
        domain: the domain of the message; by default derived from its type or its event name.
        type: the type of the message; by default derived from its event name.
        payload: the data of the event; an empty object if it has no data. A bare text is a piece of text.
        open_meta: the envelope's own `meta`.
        value: the payload unchanged, for events that no rule reads.
        conversation_id: the conversation id of the envelope or its payload, else the last known id.
    """

    __slots__ = ("_top", "conversation_id", "domain", "event", "open_meta", "payload", "type", "value")

    def __init__(self, message: Any, event: str | None, run: Run) -> None:
        top = snake_keys(message)
        self._top = top
        self.event = (event or "").lower()
        self.type = _snake(text_of(top.get("type"))) or (
            self.event if self.event in ("done", "error") else ""
        )
        self.domain = text_of(top.get("domain")).lower() or _DOMAIN_OF_TYPE.get(self.type, "")
        self.value = top.get("payload")
        if isinstance(self.value, str) and self.domain == "llm":
            self.value = {"delta": self.value}
        self.payload = snake_keys(self.value)
        self.open_meta = snake_keys(top.get("meta"))
        if not self.type and self.domain in ("llm", ""):
            self.type = "message" if {"delta", "content"} & self.payload.keys() else ""
            self.domain = self.domain or ("llm" if self.type else "")
        self.conversation_id = (
            text_of(top.get("conversation_id"))
            or text_of(self.payload.get("conversation_id"))
            or run.conversation_id
        )
        run.conversation_id = short_id(self.conversation_id)

    @property
    def empty(self) -> dict[str, Any] | None:
        """An empty object if the message has no fields of its own; else None."""
        return {} if not self._top else None

    def __bool__(self) -> bool:
        """Return False if the message is an empty object, which has no meaning."""
        return bool(self._top)

    @property
    def ends(self) -> bool:
        """Whether the run is over. A `done` in any other domain is an extension with an unknown meaning."""
        return self.event == "done" or (self.type == "done" and self.domain in ("system", ""))

    @property
    def loose(self) -> dict[str, Any]:
        """The payload, or the value that replaces it: a text, or the fields at the top level."""
        if self.payload:
            return self.payload
        if isinstance(self.value, str):
            return {"message": self.value}
        return self.rest

    @property
    def rest(self) -> dict[str, Any]:
        """The fields at the top level that do not belong to the envelope."""
        return leftover(self._top, _ENVELOPE) or {}

    def text(self, *names: str) -> str:
        """Return the first of the payload's fields `names` that is not empty, as text."""
        return next((text_of(self.payload[name]) for name in names if self.payload.get(name)), "")

    def meta(
        self, *known: str | tuple[str, ...], extra: Mapping[str, Any] = NO_EXTRA, **ids: Any
    ) -> Meta | None:
        """Return the metadata: ids, a duration, and as `extra` the fields that no rule reads.

        If a tuple names one field in several ways, only the name that is read counts as known.
        """
        names = self._read(known)
        beside = same_as(self.conversation_id, self.payload, ("conversation_id",))
        if self.payload.get("role") in _ROLES:
            beside.add("role")
        extra = {**self.rest, **(leftover(self.payload, names | beside) or {}), **extra}
        if rest := leftover(self.open_meta, {*names, *META_IDS, *_DURATIONS}):
            extra["meta"] = rest
        fields = {
            "thread_id": self.conversation_id,
            "message_id": self._top.get("message_id"),
            **{name: self.open_meta.get(name) for name in META_IDS},
            "duration_ms": self.duration(),
            "extra": extra,
        }
        return meta_of(**{**fields, **ids})

    def _read(self, known: Iterable[str | tuple[str, ...]]) -> set[str]:
        names: set[str] = set()
        for item in known:
            if isinstance(item, str):
                names.add(item)
            else:
                value = next((self.payload[name] for name in item if self.payload.get(name)), None)
                names |= same_as(value, self.payload, item)
        return names

    def ids(self, extra: Mapping[str, Any] = NO_EXTRA) -> Meta | None:
        """Return the ids as metadata, without the payload's fields."""
        return self.meta(*self.payload, extra=extra)

    def duration(self) -> int | None:
        """Return the duration in `meta`; None if it has no duration."""
        return next(
            (milliseconds(self.open_meta[name]) for name in _DURATIONS if name in self.open_meta), None
        )


def _end_status(status: str, waits: bool) -> Any:
    if status in _ENDS:
        return status
    return "suspended" if waits else "completed"


def _tokens(fields: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: value
        for name in _TOKENS
        if isinstance(value := fields.get(name), int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    }
