"""Reads the events of a run: of an agent, of a team with its members, of a workflow with its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import and_extra, custom, leftover, named_data, text_in, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.agno.decode_media import MEDIA, Media, digest_of
from streamweir.dialects.agno.decode_pauses import paused_run, paused_workflow
from streamweir.dialects.agno.decode_place import COMMON, Place, Places, and_message
from streamweir.dialects.agno.decode_steps import block, failure_of, phase, results_of, step, step_status
from streamweir.dialects.agno.decode_texts import Texts
from streamweir.dialects.agno.decode_tools import Calls
from streamweir.dialects.agno.decode_usage import Usage
from streamweir.dialects.agno.shared_names import BLOCKS, EVENTS, PHASES, STEPS, known_as
from streamweir.events import Content, Data, Event, SessionEnd, SessionStart, Status
from streamweir.framing import Frame

__all__ = ["AgnoDecoder"]

_IDS: Final = ("agent_id", "team_id", "workflow_id", "run_id", "session_id")
_STATES: Final = frozenset({"PENDING", "RUNNING", "COMPLETED", "PAUSED", "CANCELLED", "ERROR"})
_ENDS: Final[Mapping[str, str]] = {
    "COMPLETED": "Completed",
    "PAUSED": "Paused",
    "CANCELLED": "Cancelled",
    "ERROR": "Error",
}
"""By the state of a whole answer: the event that says the same."""

_RUN: Final = (
    *(*COMMON, *MEDIA, "content", "reasoning_content", "thinking", "reasoning_steps", "reasoning_messages"),
    *("additional_input", "messages", "metrics", "tools", "requirements", "member_responses", "input"),
    *("session_state", "status", "events", "followups", "metadata", "run_input", "formatted_tool_calls"),
    *("reason", "cancellation_stage", "redacted_thinking"),
)
_TOOL: Final = (*_RUN, "tool", "error")
_FAILURE: Final = (*_RUN, "error", "error_type", "error_id", "additional_data")
_WORKFLOW: Final = (
    *(*_RUN, "step_results", "step_executor_runs", "step_requirements", "paused_step_index"),
    *("paused_step_name", "pause_kind", "run_output", "workflow_agent_run"),
)
_STEP_OUTPUT: Final = (
    *(*COMMON, *MEDIA, "step_output", "step_response", "content", "step_type", "executor_type"),
    *("executor_name", "step_run_id", "metrics", "success", "error", "stop", "is_paused", "steps"),
)
_OWN_STATE: Final = ("current_session_id", "current_run_id", "current_user_id", "reasoning_steps")
"""What the server itself keeps in the state of a session."""

_MAY_FAIL: Final = ("RunError", "WorkflowError")
"""With these no session starts: they may be of a failure and nothing else."""


class AgnoDecoder(Decoder):
    """Reads one run. The end of the run that was asked for is that of the stream; others are steps of it."""

    in_a_row: ClassVar[bool] = True
    text_fields: ClassVar = TextFields(
        texts=(("content",), ("reasoning_content",)), ignored=(("created_at",), ("event_index",))
    )

    def __init__(self) -> None:
        self._places = Places()
        self._calls = Calls(self.room // 8)
        self._media = Media(self.room // 8)
        self._texts = Texts(self.room // 8)
        self._usage = Usage()
        self._has_begun = False
        self._last_state = ""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Sure of its events beside one of its ids, and of a run's whole answer."""
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
        """Return the events that `frame` means; what nobody knows is kept as it is."""
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

    def close(self) -> Iterable[Event]:
        """The end, if the last run of a workflow without events of its own is over."""
        return (self._end(),) if self.complete else ()

    def _read(self, name: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        place = self._places.of(name, fields)
        known = known_as(name)
        if not self._has_begun and known not in _MAY_FAIL:
            self._has_begun = True
            yield SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=place.meta)
        if reader := _READERS.get(known):
            yield from reader(self, fields, place)
        elif known in PHASES:
            yield from phase(known, fields, place)
        elif known in STEPS:
            yield from step(known, fields, place)
        elif known in BLOCKS:
            yield from block(known, fields, place)
        else:
            yield named_data(known, leftover(fields, COMMON) or {}, place.meta)

    # A run

    def _started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        rest = leftover(fields, _RUN)
        if not place.is_top:
            yield _run_status("started", fields, place, rest)
        elif rest:
            yield Content("", meta=and_extra(place.meta, rest))

    def _continued(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _run_status("resumed", fields, place, leftover(fields, _RUN))

    def _content(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.piece(fields, place, leftover(fields, _RUN), is_intermediate=False)
        yield from self._media.read(fields, place.meta)

    def _intermediate(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._texts.piece(fields, place, leftover(fields, _RUN), is_intermediate=True)

    def _thought(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return self._texts.thought(fields, place.beside(leftover(fields, _RUN)))

    def _reasoning_step(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return self._texts.step(fields, place.beside(leftover(fields, _RUN)))

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
        yield from _metadata(fields, place)
        rest = leftover(fields, _RUN)
        if not place.is_top:
            yield _run_status("finished", fields, place, rest)
            return
        self._usage.set(fields.get("metrics"))
        if fields.get("workflow_id"):  # a workflow that reports nothing of itself, and may go on
            self.complete = True
        else:
            yield self._end(and_extra(place.meta, rest))

    def _state(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """The state of the session, as far as it is the app's; each run within another one repeats it."""
        state = fields.get("session_state")
        own = leftover(state, _OWN_STATE) if isinstance(state, dict) else None
        if own and (digest := digest_of(own)) != self._last_state:
            self._last_state = digest
            yield Data("state", own, meta=place.meta)

    def _failed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        if not place.is_top:
            yield _run_status("failed", fields, place, None)
        yield upstream_error(
            text_in(fields, "content", "error"),
            code=text_of(fields.get("error_id")) or None,
            terminal=place.is_top,
            details=leftover(
                {"error_type": fields.get("error_type"), **(leftover(fields, _FAILURE) or {})}, ()
            ),
            meta=place.meta,
        )

    def _cancelled(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        rest = leftover(fields, (*_WORKFLOW, "is_cancelled"))
        if place.is_top:
            yield SessionEnd("cancelled", summary=self._usage.summary, meta=and_extra(place.meta, rest))
        else:
            yield _run_status("finished", fields, place, {**(rest or {}), "cancelled": True})

    def _paused(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """A run waits; one within another is waited for by that, which says so itself."""
        if not place.is_top:
            yield _run_status("suspended", fields, place, leftover(fields, _RUN))
            return
        self._usage.set(fields.get("metrics"))
        yield from self._texts.end_of_run(fields, place)
        yield from paused_run(fields, place, self._calls)
        yield SessionEnd(
            "suspended", summary=self._usage.summary, meta=and_extra(place.meta, leftover(fields, _RUN))
        )

    # Tools

    def _tool_started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        place = place.beside(leftover(fields, _TOOL))
        for tool in _tools_in(fields):
            if not self._calls.has_ended(text_of(tool.get("tool_call_id")), place) or "tool" in fields:
                yield from self._calls.start(tool, place)

    def _tool_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        place = place.beside(leftover(fields, _TOOL))
        for tool in _tools_in(fields):
            if "tool" in fields or tool.get("content", tool.get("result")) is not None:
                yield from self._calls.end(tool, place)
        yield from self._media.read(fields, place.meta)

    def _tool_failed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        place = place.beside(leftover(fields, _TOOL))
        for tool in _tools_in(fields):
            yield from self._calls.end(tool, place, text_of(fields.get("error")) or "failed")

    # A workflow

    def _workflow_started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _workflow_status("started", fields, place, leftover(fields, _WORKFLOW))

    def _step_output(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """What a step has given: said by the run within it, or new; an error's text is no answer."""
        given = fields.get("step_output") or fields.get("step_response")
        output: dict[str, Any] = given if isinstance(given, dict) else {}
        output = {"content": fields.get("content"), "step_id": fields.get("step_id"), **output}
        yield from self._step_result(output, fields, place)

    def _step_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._step_output(fields, place)
        response = fields.get("step_response")
        if not isinstance(response, dict) or failure_of(response) is None:
            yield step_status("finished", fields, place)

    def _step_result(
        self, output: Mapping[str, Any], fields: Mapping[str, Any], place: Place
    ) -> Iterator[Event]:
        if (failure := failure_of(output)) is not None:
            self._texts.note(text_of(output.get("content")))
            named = {**output, **{name: value for name, value in fields.items() if value is not None}}
            yield step_status("failed", named, place, failure)
            return
        yield from self._texts.output(output, place)
        yield from self._media.read(output, place.meta)
        if rest := leftover({**fields, **output}, _STEP_OUTPUT):
            yield named_data("step_output", rest, place.meta)

    def _workflow_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """The last step's failure is that of the workflow, which calls itself completed all the same."""
        last = (results_of(fields) or [{}])[-1]
        failure = failure_of(last)
        yield from self._failed_steps(fields, place)
        if failure is None:
            yield from self._last_words(fields, last, place)
        self._usage.set_of_steps(fields.get("metrics"))
        rest = leftover(fields, _WORKFLOW)
        yield from _metadata(fields, place)
        if not place.is_top:
            yield _workflow_status("finished" if failure is None else "failed", fields, place, rest)
        elif failure is None:
            yield _workflow_status("finished", fields, place, rest)
            yield self._end()
        else:
            yield _workflow_status("failed", fields, place, None)
            yield upstream_error(failure, meta=place.meta)

    def _failed_steps(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Steps that have failed without saying so themselves."""
        for result in results_of(fields):
            text = text_of(result.get("content"))
            if (failure := failure_of(result)) is not None and not self._texts.is_noted(text):
                self._texts.note(text)
                yield step_status("failed", {**result, "workflow_name": None}, place, failure)

    def _last_words(
        self, fields: Mapping[str, Any], last: Mapping[str, Any], place: Place
    ) -> Iterator[Event]:
        """The text of a workflow: that of its last step, which has come; parallel ones in a list."""
        is_list = last.get("step_type") == "Parallel" or last.get("executor_type") == "parallel"
        text = text_of(fields.get("content"))
        if text and not is_list and not self._texts.is_noted(text):
            yield Content(text, is_complete=True, whole="repeat", meta=and_message(place))

    def _workflow_paused(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _workflow_status("suspended", fields, place, leftover(fields, _WORKFLOW))
        yield from _metadata(fields, place)
        if place.is_top:
            yield from paused_workflow(fields, place, self._calls)
            yield SessionEnd("suspended", summary=self._usage.summary)

    def _workflow_failed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _workflow_status("failed", fields, place, None)
        yield from self._failed({**fields, "content": fields.get("error") or fields.get("content")}, place)

    # A whole answer

    def _whole(self, state: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """A run that was not to be streamed, or how a paused workflow stands."""
        kind = (
            "Workflow"
            if fields.get("workflow_id") and not fields.get("agent_id") and not fields.get("team_id")
            else "Run"
        )
        place = self._places.of(kind, fields)._replace(is_top=True, channel=None)
        if not self._has_begun:
            self._has_begun = True
            yield SessionStart(session_id=text_of(fields.get("session_id")) or None, meta=place.meta)
        for tool in _tools_in(fields):
            if tool.get("result") is not None or tool.get("tool_call_error"):
                yield from self._calls.end(tool, place)
        if state in _ENDS:
            yield from _READERS[f"{kind}{_ENDS[state]}"](self, fields, place)
        elif fields.get(
            "content"
        ):  # a workflow of the playground says this itself, and has no word for its end
            self.complete = True
            yield from self._texts.piece(fields, place, None, is_intermediate=False)

    def _end(self, meta: Any = None) -> SessionEnd:
        return SessionEnd("completed", summary=self._usage.summary, meta=meta)


def _tools_in(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The call that an event is about; older servers repeat all calls of the run."""
    tool, tools = fields.get("tool"), fields.get("tools")
    if isinstance(tool, dict):
        return [tool]
    return [item for item in tools if isinstance(item, dict)] if isinstance(tools, list) else []


def _run_status(
    state: Any, fields: Mapping[str, Any], place: Place, rest: Mapping[str, Any] | None
) -> Status:
    name = text_in(fields, "agent_name", "team_name", "agent_id", "team_id") or None
    return Status("node", state, name, meta=and_extra(place.meta, rest))


def _workflow_status(
    state: Any, fields: Mapping[str, Any], place: Place, rest: Mapping[str, Any] | None
) -> Status:
    name = text_in(fields, "workflow_name", "workflow_id") or None
    return Status("workflow", state, name, meta=and_extra(place.meta, rest))


def _metadata(fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """What an app or the server adds to a run."""
    for name in ("metadata", "followups"):
        if value := fields.get(name):
            yield named_data(name, value, place.meta)


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
    "WorkflowStarted": AgnoDecoder._workflow_started,
    "WorkflowCompleted": AgnoDecoder._workflow_completed,
    "WorkflowPaused": AgnoDecoder._workflow_paused,
    "WorkflowCancelled": AgnoDecoder._cancelled,
    "WorkflowError": AgnoDecoder._workflow_failed,
    "StepOutput": AgnoDecoder._step_output,
    "StepCompleted": AgnoDecoder._step_completed,
}
