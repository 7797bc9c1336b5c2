"""Reads steps and subagents: parts of a run that begin and end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from streamweir.codec.coerce import text_of
from streamweir.dialects.ag_ui.shared_metadata import BASE, metadata_of, read_metadata
from streamweir.events import Event, Scope, State, Status

__all__ = ["read_step", "read_subagent"]

_STATES: Final[Mapping[str, State]] = {"STARTED": "started", "FINISHED": "finished", "ERROR": "failed"}
_STEP: Final = BASE | {"stepName"}
_SUBAGENT: Final = BASE | {"name", "message"}


def read_step(message: Mapping[str, Any]) -> Event:
    """Return the status of a step. Its scope is `node`, unless its metadata name another scope."""
    metadata, state = metadata_of(message), _state(message)
    scope: Any = metadata.get("scope")
    own = metadata.get("state")
    name = text_of(message.get("stepName"))
    return Status(
        scope if scope in get_args(Scope) else "node",
        "failed" if own == "failed" else state,
        name or None,
        metadata.get("detail"),
        meta=read_metadata(message, _STEP, "scope", "state", "name", "detail"),
    )


def read_subagent(message: Mapping[str, Any]) -> Event:
    """Return the status of an agent that another agent has called."""
    name, text = text_of(message.get("name")), text_of(message.get("message"))
    return Status("node", _state(message), name or None, text or None, meta=read_metadata(message, _SUBAGENT))


def _state(message: Mapping[str, Any]) -> State:
    return _STATES.get(str(message["type"]).rpartition("_")[2], "running")
