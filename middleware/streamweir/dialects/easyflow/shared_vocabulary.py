"""The words that reader and writer share: domains, ids, states, scopes."""

from __future__ import annotations

from typing import Final, get_args

from streamweir.events import Scope, State

__all__ = ["DOMAINS", "META_IDS", "SCOPES", "SESSION_STATES", "STEP_STATES"]

DOMAINS: Final = frozenset({"llm", "tool", "system", "business", "workflow", "interaction", "debug"})
META_IDS: Final = ("run_id", "parent_run_id", "node_id", "node_name")
"""Ids for which the envelope has no field: they travel in its open `meta`."""

SESSION_STATES: Final[dict[str, State]] = {
    "initializing": "started",
    "running": "running",
    "suspended": "suspended",
    "resumed": "resumed",
    "connected": "connected",
    "finished": "finished",
    "failed": "failed",
}
STEP_STATES: Final[dict[str, State]] = {
    "start": "started",
    "running": "running",
    "suspend": "suspended",
    "resume": "resumed",
    "end": "finished",
    "error": "failed",
}
SCOPES: Final = frozenset(get_args(Scope)) - {"session", "node"}
"""Scopes that the specification has no event for: types of our own in the domain `workflow`."""
