"""The arguments of calls as the upstream wrote them, for whole answers that show arguments as text.

A client sends the text of a whole answer back, and some upstreams compare it with the text that they wrote.
Source: the conversation contract, section 2 (`arguments_text`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamweir.codec.coerce import arguments
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Event, ToolCallDelta, ToolCallStart
from streamweir.jsontext import same_json

__all__ = ["ArgumentTexts"]


class ArgumentTexts:
    """Collects the texts of arguments by the ids of their calls.

    The text is kept if it parses to the arguments of the call that begins after its pieces. Once the limit is
    reached, texts are no longer kept, and the arguments are serialised anew.

    Args:
        limit: the most bytes of all texts.
    """

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._open: dict[str, TextPieces] = {}
        self._texts: dict[str, str] = {}

    def add(self, event: Event) -> None:
        """Note a piece of arguments, or the call that the pieces belong to; ignore all other events."""
        if type(event) is ToolCallDelta:
            self._append(event)
        elif type(event) is ToolCallStart:
            self._close(event)

    def added_to(self, calls: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the folded calls, each with `arguments_text` if its text is known."""
        texts = self._texts
        return [
            {**call, "arguments_text": texts[call["tool_id"]]} if call["tool_id"] in texts else call
            for call in calls
        ]

    def _append(self, event: ToolCallDelta) -> None:
        size = len(event.arguments_delta)
        if size > self._room:
            self._room = 0
            self._open.clear()
            return
        self._room -= self._open.setdefault(event.tool_id, TextPieces()).append(event.arguments_delta)

    def _close(self, event: ToolCallStart) -> None:
        pieces = self._open.pop(event.tool_id, None)
        text = "" if pieces is None else pieces.text
        if text and same_json(arguments(text), event.arguments):
            self._texts[event.tool_id] = text
        else:
            self._texts.pop(event.tool_id, None)
