"""Reads the events of a workflow: its steps, their outputs, and how the workflow ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, named_data, text_in, text_of, upstream_error
from streamweir.dialects.agno.decode_ends import WORKFLOW, cancelled, failed, metadata
from streamweir.dialects.agno.decode_media import MEDIA, Media
from streamweir.dialects.agno.decode_pauses import paused_workflow
from streamweir.dialects.agno.decode_place import COMMON, Place, and_message
from streamweir.dialects.agno.decode_steps import failure_of, phase, results_of, step_status
from streamweir.dialects.agno.decode_texts import Texts
from streamweir.dialects.agno.decode_tools import Calls
from streamweir.dialects.agno.decode_usage import Usage
from streamweir.events import Content, Event, SessionEnd, State, Status

__all__ = ["WORKFLOW_EVENTS", "Workflow"]

_STEP_OUTPUT: Final = (
    *(*COMMON, *MEDIA, "step_output", "step_response", "content", "step_type", "executor_type"),
    *("executor_name", "step_run_id", "metrics", "success", "error", "stop", "is_paused", "steps"),
)


class Workflow:
    """Reads one workflow, and the workflows within it.

    Attributes:
        is_over: whether the workflow has reported that it is complete.

    Args:
        calls: the calls of the stream.
        media: the files and references of the stream.
        texts: the texts of the stream.
        usage: the tokens of the stream.
    """

    def __init__(self, calls: Calls, media: Media, texts: Texts, usage: Usage) -> None:
        self.is_over = False
        self._calls = calls
        self._media = media
        self._texts = texts
        self._usage = usage
        self._agent_works = False
        """Whether an agent runs the workflow, so that it may write the last text."""

    def read(self, name: str, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        """Return the events for one of `WORKFLOW_EVENTS`."""
        return _READERS[name](self, fields, place)

    def _started(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _status("started", fields, place, leftover(fields, WORKFLOW))

    def _step_output(
        self, fields: Mapping[str, Any], place: Place, *, is_end: bool = False
    ) -> Iterator[Event]:
        """Yield the output of a step unless its run has sent it; the text of an error is no answer."""
        given = fields.get("step_output") or fields.get("step_response")
        output: dict[str, Any] = given if isinstance(given, dict) else {}
        output = {"content": fields.get("content"), "step_id": fields.get("step_id"), **output}
        yield from self._step_result(output, fields, place, is_end=is_end)

    def _step_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield from self._step_output(fields, place, is_end=True)
        response = fields.get("step_response")
        if not isinstance(response, dict) or failure_of(response) is None:
            yield step_status("finished", fields, place)

    def _step_result(
        self, output: Mapping[str, Any], fields: Mapping[str, Any], place: Place, *, is_end: bool
    ) -> Iterator[Event]:
        if (failure := failure_of(output)) is not None:
            self._texts.note(text_of(output.get("content")))
            named = {**output, **{name: value for name, value in fields.items() if value is not None}}
            yield step_status("failed", named, place, failure)
            return
        yield from self._texts.output(output, place, is_end=is_end)
        yield from self._media.read(output, place.meta)
        if rest := leftover({**fields, **output}, _STEP_OUTPUT):
            yield named_data("step_output", rest, place.meta)

    def _completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Read the end of a workflow. It has failed if its last step has; the server does not say so."""
        last = (results_of(fields) or [{}])[-1]
        failure = failure_of(last)
        yield from self._failed_steps(fields, place)
        if failure is None:
            yield from self._last_words(fields, last, place)
        self._usage.set_of_steps(fields.get("metrics"))
        rest = leftover(fields, WORKFLOW)
        yield from metadata(fields, place)
        if not place.is_top:
            yield _status("finished" if failure is None else "failed", fields, place, rest)
        elif failure is None:
            yield _status("finished", fields, place, rest)
            self.is_over = True
            if not self._agent_works:
                yield SessionEnd(summary=self._usage.summary)
        else:
            yield _status("failed", fields, place, None)
            yield upstream_error(failure, meta=place.meta)

    def _agent_started(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        self._agent_works = True
        return phase("WorkflowAgentStarted", fields, place)

    def _agent_completed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        self._agent_works = False
        yield from self._texts.end_of_run(fields, place)
        yield from phase("WorkflowAgentCompleted", fields, place)
        if self.is_over:
            yield SessionEnd(summary=self._usage.summary)

    def _failed_steps(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield the status of steps that have failed without an event of their own."""
        for result in results_of(fields):
            text = text_of(result.get("content"))
            if (failure := failure_of(result)) is not None and not self._texts.is_noted(text):
                self._texts.note(text)
                yield step_status("failed", {**result, "workflow_name": None}, place, failure)

    def _last_words(
        self, fields: Mapping[str, Any], last: Mapping[str, Any], place: Place
    ) -> Iterator[Event]:
        """Yield the text of the workflow, unless its last step has sent it or its steps ran in parallel."""
        is_list = last.get("step_type") == "Parallel" or last.get("executor_type") == "parallel"
        text = text_of(fields.get("content"))
        if text and not is_list and not self._texts.is_noted(text):
            yield Content(text, is_complete=True, whole="repeat", meta=and_message(place))

    def _paused(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _status("suspended", fields, place, leftover(fields, WORKFLOW))
        yield from metadata(fields, place)
        if place.is_top:
            yield from paused_workflow(fields, place, self._calls)
            yield SessionEnd("suspended", summary=self._usage.summary)

    def _cancelled(self, fields: Mapping[str, Any], place: Place) -> Iterable[Event]:
        return cancelled(fields, place, self._usage)

    def _failed(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        yield _status("failed", fields, place, None)
        yield from failed({**fields, "content": fields.get("error") or fields.get("content")}, place)


def _status(state: State, fields: Mapping[str, Any], place: Place, rest: Mapping[str, Any] | None) -> Status:
    name = text_in(fields, "workflow_name", "workflow_id") or None
    return Status("workflow", state, name, meta=and_extra(place.meta, rest))


_READERS: Final[Mapping[str, Callable[[Workflow, Mapping[str, Any], Place], Iterable[Event]]]] = {
    "WorkflowAgentStarted": Workflow._agent_started,
    "WorkflowAgentCompleted": Workflow._agent_completed,
    "WorkflowStarted": Workflow._started,
    "WorkflowCompleted": Workflow._completed,
    "WorkflowPaused": Workflow._paused,
    "WorkflowCancelled": Workflow._cancelled,
    "WorkflowError": Workflow._failed,
    "StepOutput": Workflow._step_output,
    "StepCompleted": Workflow._step_completed,
}
WORKFLOW_EVENTS: Final = frozenset(_READERS)
"""The names of the events that `Workflow` reads."""
