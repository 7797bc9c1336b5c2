"""Converts the pieces of the arguments of a call to pieces of one JSON text.

    event                                   pieces             JSON text of the arguments
    ─────────────────────────────────────   ────────────────   ─────────────────────────────────────────────
    function_call_arguments.delta           JSON               the pieces
    custom_tool_call_input.delta            text               {"input": "..."}
    shell_call_command.delta                text, by command   {"action": {"commands": ["...", "..."], ...}}
    apply_patch_call_operation_diff.delta   text               {"operation": {"diff": "...", ...}}

Source: the Responses API, streaming events (openai-python 3.57).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover
from streamweir.codec.text_pieces import TextPieces
from streamweir.jsontext import write_json_text

__all__ = ["ArgumentText"]

_INPUT: Final = '{"input":"'
_COMMANDS: Final = '{"action":{"commands":["'
_NEXT_COMMAND: Final = '","'
_DIFF: Final = '{"operation":{"diff":"'


class ArgumentText:
    """The JSON text of the arguments of one call, while it arrives in pieces.

    Attributes:
        size: the number of bytes of the text until now.
    """

    def __init__(self) -> None:
        self._text = TextPieces()
        self._end: str | None = None
        """The text that closes the begun JSON; None before the first piece; empty if the pieces are JSON."""
        self._command: Any = None
        self._holder: tuple[str, str, str] | None = None
        """The argument whose field arrives in pieces, that field, and the end of its value.

        None if the field is the only one.
        """

    @property
    def size(self) -> int:
        """The number of bytes until now."""
        return self._text.size

    @property
    def whole(self) -> str:
        """The text that has arrived, closed so that it is complete JSON."""
        return self._text.text + (self._end or "")

    def json(self, piece: str) -> str:
        """Add a piece of JSON; return it."""
        self._end = ""
        return self._add(piece)

    def input(self, piece: str) -> str:
        """Add a piece of the input of a tool without a schema; return it as a piece of JSON."""
        begin = _INPUT if self._end is None else ""
        self._end = '"}'
        return self._add(begin + _within_string(piece))

    def command(self, piece: str, index: Any) -> str:
        """Add a piece of the command with this index; return it as a piece of JSON."""
        begin = _COMMANDS if self._end is None else "" if index == self._command else _NEXT_COMMAND
        self._command = index
        self._holder = ("action", "commands", '"]')
        self._end = '"]}}'
        return self._add(begin + _within_string(piece))

    def diff(self, piece: str) -> str:
        """Add a piece of the diff of a patch; return it as a piece of JSON."""
        begin = _DIFF if self._end is None else ""
        self._holder = ("operation", "diff", '"')
        self._end = '"}}'
        return self._add(begin + _within_string(piece))

    def last(self, item: Mapping[str, Any]) -> str:
        """Return the last piece of JSON; empty if there was no piece, or if the pieces are JSON.

        Args:
            item: the whole call.
        """
        end = self._end or ""
        if self._holder is not None:
            name, piecewise, close = self._holder
            held = item.get(name)
            rest = leftover(held, (piecewise,)) if isinstance(held, dict) else None
            end = close + (f",{write_json_text(rest)[1:-1]}" if rest else "") + "}}"
        return end

    def _add(self, piece: str) -> str:
        self._text.append(piece)
        return piece


def _within_string(text: str) -> str:
    return write_json_text(text)[1:-1]
