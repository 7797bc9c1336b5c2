"""Reads Coze's events: states of the chat, the answer in pieces and again as a whole, calls of plugins; and
those of a workflow's run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import (
    and_extra,
    arguments,
    counts_in,
    custom,
    leftover,
    meta_of,
    named_data,
    object_in,
    objects_in,
    text_of,
    upstream_error,
)
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_shapes import file_event
from streamweir.dialects.coze.decode_workflow import WORKFLOW_EVENTS, WorkflowRun, workflow_score
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.ids import made_call_id
from streamweir.jsontext import json_digest
from streamweir.optional_json import json_object, json_or

__all__ = ["CozeDecoder"]

_CHAT: Final = "conversation.chat."
_MESSAGE: Final = "conversation.message."
_IDS: Final = ("id", "conversation_id", "chat_id", "section_id", "bot_id")
_MESSAGE_FIELDS: Final = (
    *_IDS,
    *("role", "type", "content", "content_type", "reasoning_content", "created_at", "updated_at"),
)
_CHAT_FIELDS: Final = (
    *_IDS,
    *("status", "usage", "last_error", "required_action", "created_at", "completed_at", "failed_at"),
)
_TOKENS: Final = {
    "token_count": "total_tokens",
    "output_count": "completion_tokens",
    "input_count": "prompt_tokens",
}
_CODES: Final = {
    4013: "rate_limit_error",
    4027: "insufficient_quota",
    4028: "insufficient_quota",
    4100: "unauthorized",
}
"""The meanings of the platform's error numbers (its page on errors)."""

_MOST_OPEN: Final = 1000
"""The most calls without a result that are remembered."""

_FINISHED: Final = "generate_answer_finish"
"""The type of a verbose message that only says that the answer is complete."""


class _OpenCall(NamedTuple):
    """A call that a message of the chat announced, and that has no result yet."""

    tool_id: str
    name: str
    arguments: bytes


class CozeDecoder(Decoder):
    """Reads one chat, or one run of a workflow. The completion of the chat, `done` or `Done` completes it."""

    text_fields: ClassVar = TextFields(texts=(("content",), ("reasoning_content",)))

    def __init__(self) -> None:
        self._has_begun = False
        self._summary: dict[str, Any] = {}
        self._waits = False
        self._workflow = WorkflowRun()
        self._calls = 0
        self._open: deque[_OpenCall] = deque(maxlen=_MOST_OPEN)

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for event names that no other dialect has."""
        if event is not None and event.startswith((_CHAT, _MESSAGE)):
            return 0.97
        return workflow_score(event, fields)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        name = frame.event or ""
        if name == "done":
            self.complete = True
            rest = json_object(frame.data)
            return (custom("done", rest),) if rest else ()
        if not frame.data.strip():
            return ()
        fields = frame.json()
        if not isinstance(fields, dict):
            return (custom(name or "message", fields),)
        return self._read(name, fields)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    def close(self) -> Iterable[Event]:
        """Return the end: suspended if the client is to run calls."""
        if not self.complete:
            return ()
        return (SessionEnd("suspended" if self._waits else "completed", summary=self._summary or None),)

    def _read(self, name: str, fields: dict[str, Any]) -> Iterator[Event]:
        if name.startswith((_CHAT, _MESSAGE)):
            yield from self._begin(name, fields)
        match name:
            case "conversation.message.delta":
                yield from _delta(fields)
            case "conversation.message.completed":
                yield from self._completed(fields)
            case "conversation.audio.delta":
                audio = {"base64": text_of(fields.get("content")), "media_type": "audio/pcm"}
                rest = leftover(fields, _MESSAGE_FIELDS)
                yield file_event("audio", audio, and_extra(_meta(fields), rest))
            case "error" | "Error":
                yield _failure(fields)
            case _ if name in WORKFLOW_EVENTS:
                self._summary |= counts_in(fields.get("usage"), _TOKENS)
                yield from self._workflow.read(name, fields)
                self.complete, self._waits = self._workflow.is_over, self._workflow.waits
            case _ if name.startswith(_CHAT):
                yield from self._chat(name.removeprefix(_CHAT), fields)
            case _ if not name and "code" in fields:
                yield _failure(fields)
            case _:
                yield custom(name or "message", fields)

    def _begin(self, name: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        if not self._has_begun and not name.endswith("failed"):
            self._has_begun = True
            conversation = text_of(fields.get("conversation_id")) or None
            bot = fields.get("bot_id")
            extra = {"bot_id": bot} if bot else None
            meta = meta_of(thread_id=conversation, extra=extra)
            yield SessionStart(session_id=conversation, meta=meta)

    def _completed(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a whole message: repeated answer, call, result, follow-up question, or note."""
        rest = leftover(fields, _MESSAGE_FIELDS)
        meta = and_extra(_meta(fields), rest)
        text = text_of(fields.get("content"))
        match fields.get("type"):
            case "answer" if fields.get("content_type") == "card":
                yield named_data("card", json_or(text, text), meta)
            case "answer":
                thought = text_of(fields.get("reasoning_content"))
                if thought:
                    yield Thinking(thought, "reasoning", "repeat", meta=meta)
                if text or (rest and not thought):
                    yield Content(text, whole="repeat" if text else None, meta=meta)
            case "function_call":
                yield self._call(arguments(text), meta)
            case "tool_response" | "tool_output":
                tool_id = self._open.popleft().tool_id if self._open else ""
                yield ToolCallEnd(tool_id, result=json_or(text, text), meta=meta)
            case "follow_up":
                yield named_data("follow_up", text, meta)
            case "verbose" | "knowledge" as kind:
                note = json_or(text, text)
                if not (isinstance(note, dict) and note.get("msg_type") == _FINISHED):
                    yield named_data(kind, note, meta)
                elif rest:
                    yield custom(kind, rest, _meta(fields))
            case "question":
                return  # the user's own, echoed
            case kind:
                yield custom(text_of(kind) or "message", {**fields}, _meta(fields))

    def _call(self, call: Mapping[str, Any], meta: Meta | None) -> Event:
        """Return the start of a call. It has no id, so results are matched in the order of the calls."""
        self._calls += 1
        tool_id = made_call_id(self.request_id, self._calls)
        given = arguments(call.get("arguments", call.get("params")))
        rest = leftover(call, ("name", "arguments", "params"))
        name = text_of(call.get("name")) or "unknown"
        self._open.append(_OpenCall(tool_id, name, json_digest(given)))
        return ToolCallStart(tool_id, name, arguments=given, meta=and_extra(meta, rest))

    def _chat(self, state: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a change of the chat's state."""
        meta = meta_of(thread_id=fields.get("conversation_id"), run_id=fields.get("id"))
        rest = leftover(fields, _CHAT_FIELDS)
        self._summary |= counts_in(fields.get("usage"), _TOKENS)
        match state:
            case "completed":
                self.complete = True
                if rest:
                    yield custom("conversation.chat.completed", rest, meta)
            case "failed":
                yield _failure(fields, fields.get("last_error"), meta)
            case "canceled":
                yield SessionEnd("cancelled")
            case "requires_action":
                self.complete = self._waits = True
                yield from self._required(fields, meta)
                if rest:
                    yield custom("conversation.chat.requires_action", rest, meta)
            case "created" | "in_progress":
                is_new = state == "created"
                yield Status("session", "started" if is_new else "running", meta=and_extra(meta, rest))
            case _:
                yield custom(_CHAT + state, {**fields}, meta)

    def _required(self, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the calls that the client has to run; the server waits for their results.

        An earlier message may have reported such a call without an id. The call then keeps the id that was
        made for it, and `resume` holds the server's id.
        """
        submit = object_in(object_in(fields, "required_action"), "submit_tool_outputs")
        ids = {"chat_id": fields.get("id"), "conversation_id": fields.get("conversation_id")}
        resume = {name: text_of(value) for name, value in ids.items()}
        for call in objects_in(submit.get("tool_calls")):
            function = object_in(call, "function")
            tool_id, name = text_of(call.get("id")) or "call", text_of(function.get("name")) or "unknown"
            given = arguments(function.get("arguments"))
            known = self._known_call(name, json_digest(given))
            if known is None:
                rest = {
                    **(leftover(call, ("id", "type", "function")) or {}),
                    **(leftover(function, ("name", "arguments")) or {}),
                }
                own = and_extra(meta, rest)
                yield ToolCallStart(tool_id, name, arguments=given, for_client=True, meta=own)
                yield Interaction(tool_id, "tool", title=name, resume=resume, meta=meta)
            else:
                held = {**resume, "tool_call_id": tool_id}
                yield Interaction(known.tool_id, "tool", title=name, resume=held, meta=meta)

    def _known_call(self, name: str, given: bytes) -> _OpenCall | None:
        """Remove and return the first open call with this name and these arguments; None if absent."""
        found = next((call for call in self._open if call.name == name and call.arguments == given), None)
        if found is not None:
            self._open.remove(found)
        return found


def _meta(fields: Mapping[str, Any]) -> Meta | None:
    return meta_of(
        thread_id=fields.get("conversation_id"), message_id=fields.get("id"), run_id=fields.get("chat_id")
    )


def _delta(fields: Mapping[str, Any]) -> Iterator[Event]:
    """Yield a piece of the answer or of the reasoning."""
    rest = leftover(fields, _MESSAGE_FIELDS)
    meta = and_extra(_meta(fields), rest)
    if fields.get("type") not in ("answer", None):
        yield custom(_MESSAGE + "delta", {**fields}, _meta(fields))
        return
    thought, text = text_of(fields.get("reasoning_content")), text_of(fields.get("content"))
    if thought:
        yield Thinking(thought, "reasoning", meta=meta)
    if text or (rest and not thought):
        yield Content(text, meta=meta)


def _failure(fields: Mapping[str, Any], error: Any = None, meta: Meta | None = None) -> Event:
    """Return the event of a failure: of the chat (`last_error`), the stream, or the request (error body)."""
    given = error if isinstance(error, dict) else fields
    code = given.get("code", given.get("error_code"))
    return upstream_error(
        given.get("msg") or given.get("message") or given.get("error_message"),
        code=_CODES.get(code, code) if isinstance(code, int) else code,
        details=leftover(given, ("code", "msg", "message", "error_code", "error_message", *_CHAT_FIELDS)),
        meta=meta,
    )
