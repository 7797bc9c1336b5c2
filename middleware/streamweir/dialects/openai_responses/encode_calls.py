"""A call of the client whose arguments are coming."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamweir.codec.text_pieces import TextPieces
from streamweir.dialects.openai_responses.encode_items import function_call

__all__ = ["OpenCall"]


class OpenCall(NamedTuple):
    """A call, and its arguments so far.

    Attributes:
        place: the index of its item in the output.
        item_id: the id of its item.
        tool_id: the id of the call.
        name: of the tool.
        arguments: the JSON text so far.
    """

    place: int
    item_id: str
    tool_id: str
    name: str
    arguments: TextPieces

    @property
    def item(self) -> dict[str, Any]:
        """The whole item."""
        return function_call(self.item_id, self.tool_id, self.name, self.arguments.text)
