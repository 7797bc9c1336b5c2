"""The words that the decoder and the encoder share: domains, ids, states, scopes."""

from __future__ import annotations

from typing import Final, get_args

from streamweir.events import Scope, State

__all__ = ["DOMAINS", "META_IDS", "SCOPES", "SESSION_STATES", "STEP_STATES"]

DOMAINS: Final = frozenset({"llm", "tool", "system", "business", "workflow", "interaction", "debug"})
META_IDS: Final = ("run_id", "parent_run_id", "node_id", "node_name")
"""The ids for which the envelope has no field; they are written in its open `meta`."""

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
"""The scopes for which the specification has no event; they become new types in the domain `workflow`."""
