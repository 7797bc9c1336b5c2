"""Writes requests for the approval of an MCP call as items.

A question of another upstream has no id for such an item, so it becomes a part of the text.

Source: the Responses API (openai-python 3.57, `response_output_item.py`, `McpApprovalRequest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.events import Interaction, ToolCallStart, wire_data
from streamweir.ids import RecentIds, short_id
from streamweir.jsontext import write_json_text

__all__ = ["Approvals", "approval_item", "has_item"]

_UNKNOWN: Final = "agent"
"""The server name for an upstream that has not named the server."""


def has_item(asked: Mapping[str, Any]) -> bool:
    """Return whether a question is a request for approval for which there is an item.

    Args:
        asked: the `data` of the question's event.
    """
    held = asked.get("resume")
    request_id = held.get("approval_request_id") if isinstance(held, dict) else None
    is_open = asked.get("kind") == "approval" and asked.get("state") == "requested"
    return is_open and isinstance(request_id, str) and bool(request_id)


def approval_item(asked: Mapping[str, Any], server: str | None) -> dict[str, Any]:
    """Return the item for a question for which `has_item` is True.

    Args:
        asked: the `data` of the question's event.
        server: the label of the server that runs the call; None if unknown.
    """
    held = asked["resume"]
    given = held.get("arguments")
    return {
        "id": held["approval_request_id"],
        "type": "mcp_approval_request",
        "server_label": server or _UNKNOWN,
        "name": text_of(asked.get("title")) or "unknown",
        "arguments": given if isinstance(given, str) else write_json_text(given or {}),
    }


class Approvals:
    """Makes the items of one response.

    Args:
        room: the number of bytes, roughly, of server names that may be remembered.
    """

    def __init__(self, room: int) -> None:
        self._servers: RecentIds[str] = RecentIds(room)
        """The labels of the servers that run calls, by the ids of the calls."""

    def note(self, call: ToolCallStart) -> None:
        """Remember the server of a call, if the upstream has named it."""
        label = ((call.meta or {}).get("extra") or {}).get("server_label")
        if isinstance(label, str):
            self._servers.add(short_id(call.tool_id), short_id(label))

    def item_of(self, event: Interaction) -> dict[str, Any] | None:
        """Return the item of a question; None if there is no item for it."""
        asked = wire_data(event)
        if not has_item(asked):
            return None
        return approval_item(asked, self._servers.get(short_id(event.interaction_id)))
