"""Reads the events of a run of an agent, of a team with its members, or of a workflow with its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.base import NO_EXTRA, Decoder
from streamweir.codec.coerce import and_extra, custom, leftover, named_data, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.agno.decode_ends import RUN, cancelled, failed, metadata, run_status
from streamweir.dialects.agno.decode_media import Media, digest_of
from streamweir.dialects.agno.decode_pauses import paused_run
from streamweir.dialects.agno.decode_place import COMMON, Place, Places
from streamweir.dialects.agno.decode_steps import block, phase, step
from streamweir.dialects.agno.decode_texts import Texts
from streamweir.dialects.agno.decode_tools import Calls, result_of
from streamweir.dialects.agno.decode_usage import Usage
from streamweir.dialects.agno.decode_workflow import WORKFLOW_EVENTS, Workflow
from streamweir.dialects.agno.shared_names import BLOCKS, EVENTS, PHASES, STEPS, known_as
from streamweir.events import Content, Data, Event, SessionEnd, SessionStart
from streamweir.framing import Frame
from streamweir.ids import made_call_id

__all__ = ["AgnoDecoder"]

_IDS: Final = ("agent_id", "team_id", "workflow_id", "run_id", "session_id")
_STATES: Final = frozenset({"PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR"})
_ENDS: Final[Mapping[str, str]] = {
    "COMPLETED": "Completed",
    "PAUSED": "Paused",
    "CANCELLED": "Cancelled",
    "ERROR": "Error",
}
"""The event with the same meaning, by the state of a whole answer."""

_TOOL: Final = (*RUN, "tool", "error")
_BESIDE_A_TOOL: Final = frozenset({*RUN, "error"}) - {"content"}
_OWN_STATE: Final = ("current_session_id", "current_run_id", "current_user_id", "reasoning_steps")
"""The keys that the server itself keeps in the state of a session."""

_MAY_FAIL: Final = ("RunError", "WorkflowError")
"""The events that start no session, because the stream may be only a failure."""


class AgnoDecoder(Decoder):
    """Reads one run. The end of the requested run ends the stream; other runs are steps of it."""

    in_a_row: ClassVar[bool] = True
    text_fields: ClassVar = TextFields(
        texts=(("content",), ("reasoning_content",)), ignored=(("created_at",), ("event_index",))
    )

    def __init__(self) -> None:
        self._places = Places()
        self._usage = Usage()
        self._has_begun = False
        self._last_state = ""

    @cached_property
    def _calls(self) -> Calls:
        return Calls(self.room // 8)

    @cached_property
    def _media(self) -> Media:
        return Media(self.room // 8)

    @cached_property
    def _texts(self) -> Texts:
        return Texts(self.room // 8)

    @cached_property
    def _workflow(self) -> Workflow:
        return Workflow(self._calls, self._media, self._texts, self._usage)

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an event with one of agno's ids, or for the whole answer of a run."""
        del event
        match fields:
            case {"event": str(name)} if name in EVENTS:
                return 0.95 if any(own in fields for own in _IDS) else 0.6
            case {"run_id": str(), "status": str(state)} if state in _STATES and any(
                own in fields for own in _IDS[:3]
            ):
                return 0.95
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if not frame.data.strip():
            return ()
        fields = frame.json()
        match fields:
            case {"event": str(name)} if name in EVENTS:
                return self._read(name, fields)
            case {"error": error} if error and fields.get("event", "error") == "error":
                return (upstream_error(error, details=leftover(fields, ("event", "error"))),)
            case {"event": str(name)}:
                return (custom(name, leftover(fields, ("event",)) or {}),)
            case {"status": str(state)} if state in _STATES and "run_id" in fields:
                return self._whole(state, fields)
            case {"detail": detail, **beside} if detail and not beside:
                return (upstream_error(detail),)
        return (custom("message", fields),)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._usage.summary or NO_EXTRA

    def close(self) -> Iterable[Event]:
        """Return the end, if the last run of a workflow has ended and the workflow itself sends no events."""
        return (self._end(),) if self.complete else ()

    def _read(self, name: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        place = self._places.of(name, fields)
        known = known_as(name)
        if not self._has_begun and known not in _MAY_FAIL:
            self._has_begun = True
            yield SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=place.meta)
        if reader := _READERS.get(known):
            yield from reader(self, fields, place)
        elif known in WORKFLOW_EVENTS:
            yield from self._of_workflow(known, fields, place)
        elif known in PHASES:
            yield from phase(known, fields, place)
        elif known in STEPS:
            yield from step(known, fields, place)
        elif known in BLOCKS:
            yield from block(known, fields, place)
        else:
            yield named_data(known, leftover(fields, COMMON) or {}, place.meta)

    def _of_workflow(self, name: str, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._workflow.read(name, fields, place)
        self.complete = self.complete or self._workflow.is_over

    # A run

    def _started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        rest = leftover(fields, RUN)
        if not place.is_top:
            yield run_status("started", fields, place, rest)
        elif rest:
            yield Content("", meta=and_extra(place.meta, rest))

    def _continued(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield run_status("resumed", fields, place, leftover(fields, RUN))

    def _content(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.piece(fields, place, leftover(fields, RUN), is_intermediate=False)
        yield from self._media.read(fields, place.meta)

    def _intermediate(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.piece(fields, place, leftover(fields, RUN), is_intermediate=True)

    def _thought(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return self._texts.thought(fields, place.beside(leftover(fields, RUN)))

    def _reasoning_step(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return self._texts.step(fields, place.beside(leftover(fields, RUN)))

    def _reasoning_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.steps(fields, place)
        yield from phase("ReasoningCompleted", fields, place)

    def _model_completed(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        del place
        self._usage.add_call(fields)
        return ()

    def _completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.end_of_run(fields, place)
        yield from self._media.read(fields, place.meta, is_end=True)
        yield from self._state(fields, place)
        yield from metadata(fields, place)
        rest = leftover(fields, RUN)
        if not place.is_top:
            yield run_status("finished", fields, place, rest)
            return
        self._usage.set(fields.get("metrics"))
        if fields.get("workflow_id"):  # a workflow that reports nothing of itself, and may go on
            self.complete = True
        else:
            yield self._end(and_extra(place.meta, rest))

    def _state(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield the application's own state of the session, if the state has changed."""
        state = fields.get("session_state")
        own = leftover(state, _OWN_STATE) if isinstance(state, dict) else None
        if own and (digest := digest_of(own)) != self._last_state:
            self._last_state = digest
            yield Data("state", own, meta=place.meta)

    def _failed(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return failed(fields, place)

    def _cancelled(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        if fields.get("content") != fields.get("reason"):
            yield from self._texts.end_of_run(fields, place)
        yield from cancelled(fields, place, self._usage)

    def _paused(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Read a pause. The outer run reports the pause of a nested run, too."""
        if not place.is_top:
            yield run_status("suspended", fields, place, leftover(fields, RUN))
            return
        self._usage.set(fields.get("metrics"))
        yield from self._texts.end_of_run(fields, place)
        yield from paused_run(fields, place, self._calls)
        yield SessionEnd(
            "suspended", summary=self._usage.summary, meta=and_extra(place.meta, leftover(fields, RUN))
        )

    # Tools

    def _tool_started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        tools = _tools_in(fields, self.request_id)
        yield from () if tools else _without_tool(fields, place)
        place = place.beside(leftover(fields, _TOOL))
        for tool in tools:
            if not self._calls.has_ended(text_of(tool.get("tool_call_id")), place) or "tool" in fields:
                yield from self._calls.start(tool, place)

    def _tool_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        tools = _tools_in(fields, self.request_id)
        yield from () if tools else _without_tool(fields, place)
        place = place.beside(leftover(fields, _TOOL))
        for tool in tools:
            if "tool" in fields or result_of(tool) is not None:
                yield from self._calls.end(tool, place)
        yield from self._media.read(fields, place.meta)

    def _tool_failed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        tools = _tools_in(fields, self.request_id)
        if not tools:  # `content` repeats the error
            yield from _without_tool({**fields, "content": None}, place)
        place = place.beside(leftover(fields, _TOOL))
        for tool in tools or ([{}] if fields.get("error") else []):
            yield from self._calls.end(tool, place, text_of(fields.get("error")) or "failed")

    # A whole answer

    def _whole(self, state: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Read a run that was not streamed, or the state of a paused workflow."""
        is_workflow = "workflow_id" in fields and not {"agent_id", "team_id"} & fields.keys()
        kind = "Workflow" if is_workflow else "Run"
        place = self._places.of(kind, fields)._replace(is_top=True, channel=None)
        if not self._has_begun:
            self._has_begun = True
            yield SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=place.meta)
        for tool in _tools_in(fields, self.request_id):
            if result_of(tool) is not None or tool.get("tool_call_error"):
                yield from self._calls.end(tool, place)
        if state in _ENDS and is_workflow:
            yield from self._of_workflow(f"Workflow{_ENDS[state]}", fields, place)
        elif state in _ENDS:
            yield from _READERS[f"Run{_ENDS[state]}"](self, fields, place)
        elif fields.get("content"):
            # what a workflow of the playground says itself: it has no word for its end
            self.complete = True
            yield from self._texts.piece(fields, place, None, is_intermediate=False)

    def _end(self, meta: Any = None) -> SessionEnd:
        return SessionEnd("completed", summary=self._usage.summary, meta=meta)


def _tools_in(fields: Mapping[str, Any], request_id: str) -> list[dict[str, Any]]:
    """Return the calls in an event; older servers repeat all calls of the run."""
    tool, tools = fields.get("tool"), fields.get("tools")
    if isinstance(tool, dict):
        return [tool]
    return [
        item if item.get("tool_call_id") else {**item, "tool_call_id": made_call_id(request_id, number)}
        for number, item in enumerate(tools if isinstance(tools, list) else ())
        if isinstance(item, dict)
    ]


def _without_tool(fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the fields of a call's event that names no call, without prompts and histories."""
    if rest := leftover(fields, _BESIDE_A_TOOL):
        yield custom(text_of(fields.get("event")), rest, place.meta)


def _nothing(decoder: AgnoDecoder, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
    del decoder, fields, place
    return ()


_READERS: Final[Mapping[str, Callable[[AgnoDecoder, Mapping[str, Any], Place], Iterable[Event]]]] = {
    "RunStarted": AgnoDecoder._started,
    "RunContinued": AgnoDecoder._continued,
    "RunContent": AgnoDecoder._content,
    "RunIntermediateContent": AgnoDecoder._intermediate,
    "RunContentCompleted": _nothing,
    "RunCompleted": AgnoDecoder._completed,
    "RunError": AgnoDecoder._failed,
    "RunCancelled": AgnoDecoder._cancelled,
    "RunPaused": AgnoDecoder._paused,
    "ReasoningContentDelta": AgnoDecoder._thought,
    "ReasoningStep": AgnoDecoder._reasoning_step,
    "ReasoningCompleted": AgnoDecoder._reasoning_completed,
    "ModelRequestStarted": _nothing,
    "ModelRequestCompleted": AgnoDecoder._model_completed,
    "ToolCallStarted": AgnoDecoder._tool_started,
    "ToolCallCompleted": AgnoDecoder._tool_completed,
    "ToolCallError": AgnoDecoder._tool_failed,
}
