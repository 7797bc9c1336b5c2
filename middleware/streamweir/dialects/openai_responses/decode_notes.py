"""Reads the items of a response that are not part of its answer, and the events about them, as status events.

The items are sent back with the turn. People see only the subject of each item.

Source: the Responses API (openai-python 3.57, `response_output_item.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import objects_in, present, text_of
from streamweir.events import Event, Status, Warning

__all__ = ["NOTES", "compacting", "listing_failed", "note_of", "queued"]

NOTES: Final = frozenset({"mcp_list_tools", "additional_tools", "compaction", "mcp_approval_response"})
"""The types of items that are not part of the answer."""

_MOST_NAMES: Final = 100


def note_of(kind: str, item: Mapping[str, Any]) -> Event:
    """Return the status of an item of `NOTES`.

    Args:
        kind: the type of the item.
        item: the item.
    """
    failed = bool(item.get("error")) or item.get("status") == "failed"
    return Status("phase", "failed" if failed else "finished", kind, _detail(kind, item) or None)


def compacting() -> Event:
    """Return the status of a conversation that is being shortened."""
    return Status("phase", "running", "compaction")


def queued() -> Event:
    """Return the status of a response that waits for its turn."""
    return Status("queue", "started", "queued")


def listing_failed() -> Event:
    """Return the warning for a server whose tools could not be listed."""
    return Warning("The tools of a server could not be listed.", for_users=True)


def _detail(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "mcp_list_tools":
            return present(server_label=item.get("server_label"), tools=_names(item.get("tools")))
        case "additional_tools":
            return present(tools=_names(item.get("tools")))
        case "mcp_approval_response":
            return present(approve=item.get("approve"), reason=item.get("reason"))
    return {}


def _names(tools: Any) -> list[str] | None:
    named = [text_of(tool.get("name") or tool.get("type")) for tool in objects_in(tools)[:_MOST_NAMES]]
    return [name for name in named if name] or None
