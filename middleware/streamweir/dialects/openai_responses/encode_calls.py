"""Keeps a call of the client whose arguments are arriving."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamweir.codec.text_pieces import TextPieces
from streamweir.dialects.openai_responses.encode_items import function_call
from streamweir.events import ToolCallEnd

__all__ = ["OpenCall", "is_incomplete"]


def is_incomplete(end: ToolCallEnd) -> bool:
    """Return whether `end` ends a call that never got a result."""
    return end.error is not None and end.error.get("code") == "TOOL_INCOMPLETE"


class OpenCall(NamedTuple):
    """A call, and the arguments that have arrived.

    Attributes:
        place: the index of its item in the output.
        item_id: the id of its item.
        tool_id: the id of the call.
        name: the name of the tool.
        arguments: the JSON text that has arrived.
    """

    place: int
    item_id: str
    tool_id: str
    name: str
    arguments: TextPieces

    @property
    def item(self) -> dict[str, Any]:
        """The whole item, with the arguments that have arrived."""
        return function_call(self.item_id, self.tool_id, self.name, self.arguments.text)
