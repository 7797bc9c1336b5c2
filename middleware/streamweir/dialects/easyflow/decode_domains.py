"""Reads the payload of each domain and type of message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import (
    arguments,
    custom,
    leftover,
    meta_of,
    milliseconds,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.codec.standard_events import read_standard
from streamweir.dialects.easyflow.decode_envelope import Envelope, Run, snake_keys
from streamweir.dialects.easyflow.shared_vocabulary import SCOPES, SESSION_STATES, STEP_STATES
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    Warning,
    Whole,
)
from streamweir.ids import short_id

__all__ = ["READERS", "read_error", "read_interaction", "read_other"]

Reader = Callable[[Envelope, Run], Iterable[Event]]

_STAGES: Final = ("reasoning", "planning", "analyzing")
_FAILED: Final = frozenset({"error", "failed", "failure"})
_RAW_CODE: Final = "SYSTEM_ERROR"
"""AIFlowy's code for an exception, whose text was not written for users."""

_CALL_ID: Final = ("tool_call_id", "id")
_NAME: Final = ("name", "tool_name")
_CALL: Final = (_CALL_ID, _NAME, "description", "arguments")
_VERDICTS: Final = frozenset({*_FAILED, "success", "succeeded", "completed", "done", "ok"})
_ASKING: Final[dict[str, Any]] = {"request": "requested", "cancel": "cancelled", "resolve": "resolved"}
_KINDS: Final = frozenset({"form", "questions", "approval", "tool", "handoff", "continue"})


def _thinking(envelope: Envelope, run: Run) -> Iterator[Event]:
    stage: Any = envelope.text("stage")
    stage = stage if stage in _STAGES else None
    meta = envelope.meta("delta", "content", *(("stage",) if stage else ()))
    if delta := envelope.text("delta"):
        run.thought = True
        yield Thinking(delta, stage, meta=_of_thought(meta, run) if run.thoughts else meta)
    elif text := envelope.text("content"):
        relation = _relation(meta, run.thought)
        is_open = run.thought and not run.thoughts
        yield Thinking(text, stage, relation, meta=meta if is_open else _of_thought(meta, run))
        run.thought = False
        run.thoughts += 1
    else:
        yield from _without_text(envelope, meta)


def _of_thought(meta: Meta | None, run: Run) -> Meta:
    """Return metadata with an id for a thought without an id, because it is a separate message."""
    return {"message_id": f"thought_{run.thoughts + 1}", **(meta or {})}


def _message(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield a whole text, which ends its message."""
    run.thought = False
    meta = envelope.meta("delta", "content", "channel")
    channel = envelope.text("channel") or None
    if delta := envelope.text("delta"):
        run.pieces = True
        yield Content(delta, channel=channel, meta=meta)
    elif text := envelope.text("content"):
        whole = _relation(meta, run.pieces)
        yield Content(text, is_complete=True, channel=channel, whole=whole, meta=meta)
        run.pieces = False
    else:
        yield from _without_text(envelope, meta)


def _relation(meta: Meta | None, has_pieces: bool) -> Whole | None:
    """Return `repeat` for a whole text that may repeat pieces: pieces precede it, or it has a message id."""
    return "repeat" if has_pieces or (meta and "message_id" in meta) else None


def _without_text(envelope: Envelope, meta: Meta | None) -> Iterator[Event]:
    """Yield an event for the unknown fields of an empty piece; nothing if it has no such fields."""
    if meta and "extra" in meta:
        yield read_other(envelope)


def _reference(envelope: Envelope, run: Run) -> Iterator[Event]:
    del run
    has_list = isinstance(envelope.payload.get("citations"), list)
    yield _standard("reference", envelope) if has_list else read_other(envelope)


def _tool_call(envelope: Envelope, run: Run) -> Iterator[Event]:
    call_id = envelope.text(*_CALL_ID)
    if run.is_new_call(call_id, "event"):
        yield ToolCallStart(
            tool_id=call_id,
            tool_name=envelope.text(*_NAME) or "unknown",
            description=envelope.text("description") or None,
            arguments=arguments(envelope.payload.get("arguments")),
            meta=envelope.meta(*_CALL),
        )
    elif extra := (envelope.meta(*_CALL) or {}).get("extra"):
        yield custom("tool/tool_call", extra, envelope.ids())


def _tool_result(envelope: Envelope, run: Run) -> Iterator[Event]:
    del run
    result = envelope.payload.get("result")
    status = envelope.text("status").lower()
    failed = status in _FAILED
    word = ("status",) if status in _VERDICTS else ()
    yield ToolCallEnd(
        tool_id=envelope.text(*_CALL_ID),
        status="failed" if failed else "success",
        result=None if failed and result == envelope.payload.get("error") else result,
        error=_tool_error(envelope.payload, result) if failed else None,
        tool_name=envelope.text(*_NAME) or None,
        meta=envelope.meta(_CALL_ID, _NAME, "result", "error", "message", *word),
    )


def _tool_error(payload: Mapping[str, Any], result: Any) -> Any:
    """Return the reason of a failed call: from its result, or from another field of the payload."""
    for place in (payload.get("error"), result):
        if isinstance(place, dict):
            reason = place.get("message") or place.get("error")
            return tool_error(reason, code=place.get("code"))
        if isinstance(place, str) and place:
            return tool_error(place)
    return tool_error(payload.get("message"))


def _tool_progress(envelope: Envelope, run: Run) -> Iterator[Event]:
    del run
    rest = leftover(envelope.payload, ("tool_call_id", "id"))
    data = {**(rest or {}), "tool_id": envelope.text("tool_call_id", "id")}
    yield _standard("tool_call_progress", envelope, data)


def _session_status(envelope: Envelope, run: Run) -> Iterator[Event]:
    word = envelope.text("state", "status").lower()
    if word == "suspended":
        run.suspend()
    elif word in ("resumed", "running"):
        run.resume()
    state = SESSION_STATES.get(word)
    known = ("state", "status") if state else ()
    detail = leftover(envelope.payload, {*known, "conversation_id"})
    yield Status("session", state or "running", detail=detail, meta=envelope.ids())


def _warning(envelope: Envelope, run: Run) -> Iterator[Event]:
    del run
    yield Warning(
        envelope.text("message", "content"),
        envelope.text("code") or None,
        envelope.payload.get("detail"),
        meta=envelope.meta("message", "content", "code", "detail"),
    )


def _step_status(envelope: Envelope, run: Run) -> Iterator[Event]:
    word = envelope.text("state", "status").lower()
    node_id = envelope.text("node_id")
    if word == "resume":
        run.resume()
    elif word == "suspend":
        run.pause(node_id)
    else:
        run.paused_steps.discard(short_id(node_id))
    state = STEP_STATES.get(word) or SESSION_STATES.get(word)
    known = ("state", "status") if state else ()
    detail = leftover(envelope.payload, {*known, "node_id", "name", "node_name", "conversation_id"})
    name = envelope.text("name", "node_name")
    ids: dict[str, Any] = {
        key: envelope.text(key) for key in ("node_id", "node_name") if envelope.payload.get(key)
    }
    meta = envelope.meta(*envelope.payload, **ids)
    yield Status("node" if node_id else "workflow", state or "running", name or None, detail, meta=meta)


def _scope_status(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield the status of a step that is no node; streamweir wrote the status in the standard's words."""
    del run
    yield _standard("status", envelope, {**envelope.payload, "scope": envelope.type})


def _data(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield data in the standard's form; payloads in another form may have another meaning."""
    del run
    yield _standard("data", envelope) if "data_type" in envelope.payload else read_other(envelope)


def read_interaction(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield the questions of `form_request`, `form_cancel` and other kinds of question."""
    kind, _, word = envelope.type.rpartition("_")
    if kind not in _KINDS or word not in _ASKING:
        yield read_other(envelope)
        return
    form_id = envelope.text("form_id", "id") or kind
    if word == "request":
        run.ask(form_id)
    else:
        run.forms.discard(short_id(form_id))
    own_kind = envelope.text("kind")
    if kind == "form" and own_kind in _KINDS:
        kind = own_kind
    known = ("form_id", "id", "kind", "title", "description", "schema", "ui", "questions", "resume")
    event = _standard("interaction", envelope, {**envelope.payload, "interaction_id": form_id, "kind": kind})
    assert isinstance(event, Interaction)
    resume = event.resume
    if resume is None and word == "request":
        resume = {"form_id": form_id, "conversation_id": envelope.conversation_id}
    beyond = leftover((event.meta or {}).get("extra", {}), known)
    meta = envelope.meta(*known, extra=beyond or {})
    yield msgspec.structs.replace(event, state=_ASKING[word], resume=resume, meta=meta)


def read_error(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield an error. It ends the run under `event: error`; a system error ends it under any event name."""
    fields = envelope.loose
    nested = fields.get("error")
    if isinstance(nested, dict):
        fields = {**fields, **snake_keys(nested)}
    code = fields.get("code")
    retryable = fields.get("retryable")
    event = upstream_error(
        next((fields[name] for name in ("message", "error", "content") if fields.get(name)), None),
        code=code,
        recoverable=retryable if isinstance(retryable, bool) else None,
        terminal=envelope.event == "error" or envelope.domain in ("system", ""),
        for_users=text_of(code).upper() != _RAW_CODE,
        details=fields.get("detail", fields.get("details")),
        meta=envelope.ids(),
    )
    event.retry_after_ms = milliseconds(fields.get("retry_after_ms"))
    if envelope.domain == "business":
        event.error_type = "validation"
    run.failure = True
    yield event


def read_other(envelope: Envelope) -> Event:
    """Return the event of a message that no rule reads, named by domain and type or by SSE event name."""
    name = "/".join(part for part in (envelope.domain, envelope.type) if part) or envelope.event
    value = envelope.value
    if value is None:
        return custom(
            name or "message", envelope.rest or envelope.empty, meta_of(thread_id=envelope.conversation_id)
        )
    if isinstance(value, dict):
        value = leftover(value, ("conversation_id",)) or {}
    return custom(name or "message", value, envelope.ids())


def _standard(kind: str, envelope: Envelope, data: Mapping[str, Any] | None = None) -> Event:
    """Return an event for a payload with the standard's own fields."""
    fields = dict(envelope.payload if data is None else data)
    fields.pop("conversation_id", None)
    event = read_standard({"type": kind, "data": fields, "metadata": None})
    beyond = (event.meta or {}).get("extra", {})
    event.meta = envelope.ids(extra=beyond)
    return event


READERS: Final[dict[tuple[str, str], Reader]] = {
    ("llm", "thinking"): _thinking,
    ("llm", "message"): _message,
    ("llm", "reference"): _reference,
    ("tool", "tool_call"): _tool_call,
    ("tool", "tool_result"): _tool_result,
    ("tool", "tool_progress"): _tool_progress,
    ("system", "status"): _session_status,
    ("system", "warning"): _warning,
    ("workflow", "status"): _step_status,
    **{("workflow", scope): _scope_status for scope in SCOPES},
    ("business", "data"): _data,
}
"""The reader for each domain and type, except for `read_interaction` and `read_error`."""
