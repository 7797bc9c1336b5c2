"""Finds the place of an event: the requested run, a step of it, or a member of a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streamweir.codec.coerce import and_extra, meta_of, text_of
from streamweir.dialects.agno.shared_names import TEAM
from streamweir.events import Meta
from streamweir.ids import short_id

__all__ = ["COMMON", "Place", "Places", "and_message"]

COMMON: Final = (
    *("event", "created_at", "event_index", "nested_depth", "run_id", "parent_run_id", "session_id"),
    *("agent_id", "agent_name", "team_id", "team_name", "workflow_id", "workflow_name", "workflow_run_id"),
    *("step_id", "step_name", "step_index", "parent_step_id", "model", "model_provider"),
    *("model_provider_data", "content_type", "workflow_agent", "team_session_id", "user_id"),
)
"""The fields that tell the place of an event, and fields without a meaning for users."""

_OF_A_WORKFLOW: Final = ("Workflow", "Step", "Loop", "Parallel", "Condition", "Router")


class Place(NamedTuple):
    """The place of an event.

    Attributes:
        run_id: the id of the event's run; blank if the event has no id.
        is_top: whether the run is the requested one, so that its end is the end of the stream.
        channel: the channel of the run's texts: the name of a team's member; None for the answer.
        meta: the ids, as metadata.
    """

    run_id: str
    is_top: bool
    channel: str | None
    meta: Meta | None

    def beside(self, rest: Mapping[str, Any] | None) -> Place:
        """Return the place, with `rest` added to the fields that no rule reads."""
        return self._replace(meta=and_extra(self.meta, rest)) if rest else self


class Places:
    """Finds the place of each event of one stream.

    Attributes:
        in_workflow: whether events of a workflow itself have arrived.
    """

    def __init__(self) -> None:
        self.in_workflow = False
        self._team: str | None = None
        """The run of the requested team; None if no team was requested."""

    def of(self, name: str, fields: Mapping[str, Any]) -> Place:
        """Return the place of the event `name`."""
        run_id = short_id(text_of(fields.get("run_id")))
        is_workflows = name.startswith(_OF_A_WORKFLOW)
        parent = fields.get("parent_run_id") or None
        within = fields.get("workflow_run_id") or None
        if is_workflows:
            self.in_workflow = True
        elif self._team is None and name.startswith(TEAM) and not parent and not self.in_workflow:
            self._team = run_id
        is_member = not is_workflows and (
            (parent is not None and parent != within) or self._is_former_member(run_id)
        )
        if is_workflows:
            is_top = not fields.get("nested_depth")
        else:
            is_top = not (is_member or within or self.in_workflow)
        agent = text_of(fields.get("agent_name") or fields.get("agent_id"))
        team = text_of(fields.get("team_name") or fields.get("team_id"))
        step = text_of(fields.get("step_name"))
        return Place(
            run_id,
            is_top,
            (agent or team or None) if is_member else None,
            meta_of(
                thread_id=fields.get("session_id"),
                run_id=run_id,
                parent_run_id=parent or within,
                node_id=fields.get("agent_id") or fields.get("team_id") or fields.get("step_id"),
                node_name=agent or team or step,
            ),
        )

    def _is_former_member(self, run_id: str) -> bool:
        """Return whether a run is not the team's own. Members' events of older versions lack its id."""
        return bool(run_id and self._team) and not self.in_workflow and run_id != self._team


def and_message(place: Place) -> Meta | None:
    """Return the ids of a text. All texts of a run are one message."""
    return {**(place.meta or {}), "message_id": place.run_id} if place.run_id else place.meta
