"""The order of texts, calls and questions in a whole answer, for protocols whose answer is a list.

Source: the standard protocol 1.1, section 4 (Anthropic blocks, Responses items).
"""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Content, Event, Interaction, Opaque, Thinking, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id
from streamweir.jsontext import json_to_keep, parse_json
from streamweir.translation.fold import Fold
from streamweir.translation.turn_message import turn_message

__all__ = ["AnswerOrder"]

_ENTRY_BYTES: Final = 256
"""The memory of one entry besides its text."""


class _Entry(msgspec.Struct):
    """One run of text, or the place of a call or a question.

    Attributes:
        kind: `text`, `thinking`, `started`, `ended` (of calls) or `question`.
        message: the channel and the message that a text belongs to.
        number: the index of the call or of the interaction in the folded result.
        opaque: the JSON of the opaque value of a text, which as objects may take 30 times as much memory;
            once it is set, no further piece joins the entry.
        server: the label of the server of a call; None if it is not known.
    """

    kind: str
    message: tuple[str | None, str | int] | None = None
    number: int = 0
    pieces: TextPieces | None = None
    opaque: bytes | None = None
    server: str | None = None


class AnswerOrder:
    """Records where the parts of a folded answer come in the stream.

    Texts are kept a second time, so the memory is at most twice that of the folded result. If the stream
    changes between texts, thinking and calls too often for its limit, the order is forgotten: `entries` then
    returns None, and the answer is written in the fixed order of its protocol.

    An opaque value is stored in the last entry if that entry has the same kind and message and no opaque
    value yet; otherwise it becomes a separate entry without text.

    Args:
        fold: the folded result; each event is added to it before it is added here.
        limit: the most bytes of the folded result; None: no limit.

    Attributes:
        has_opaque: a text, thinking or a call has an opaque value.
    """

    def __init__(self, fold: Fold, *, limit: int | None) -> None:
        self.has_opaque = False
        self._fold = fold
        self._entries: list[_Entry] | None = []
        self._most = sys.maxsize if limit is None else max(limit // _ENTRY_BYTES, 16)
        self._texts: dict[tuple[str | None, str | int] | None, list[_Entry]] = {}
        """The texts of each message: the first entry, and those behind it that are not surely empty."""
        self._unnamed = 0
        """Counts the messages without an id that are complete."""
        self._numbers: dict[str, int] = {}
        """The index of each call in the folded result, by its id."""

    def add(self, event: Event) -> None:
        """Record the place of `event`, which has just been added to the folded result."""
        if self._entries is None:
            return
        match event:
            case Content():
                self._add_content(event)
            case Thinking(content=text, opaque=opaque):
                message = (None, self._name_of(event))
                if text:
                    self._extend("thinking", message, text)
                if opaque is not None:
                    self._close("thinking", message, opaque)
            case ToolCallStart(tool_id=tool_id) | ToolCallEnd(tool_id=tool_id):
                self.has_opaque |= isinstance(event, ToolCallStart) and event.opaque is not None
                self._add_call(tool_id, ended=isinstance(event, ToolCallEnd), server=_server_of(event))
            case Interaction():
                self._append(_Entry("question", number=len(self._fold.interactions) - 1))

    def entries(self) -> list[dict[str, Any]] | None:
        """Return the order as JSON values: `kind`, with `text`, `message`, `opaque` or `number`, `server`.

        Returns:
            None if the stream changed between its parts too often.
        """
        if self._entries is None:
            return None
        return [_as_json(entry) for entry in self._entries if _has_content(entry)]

    def message(self) -> dict[str, Any]:
        """Return the message of the turn in the form of a request; see `turn_message`."""
        fold = self._fold
        return turn_message(self.entries(), fold.calls, text=fold.answer.text, thinking=fold.thinking.text)

    def _add_content(self, event: Content) -> None:
        name = self._name_of(event)
        message = (event.channel, name)
        if event.op == "replace":
            self._replace(message, event.content)
        elif event.content:
            self._extend("text", message, event.content)
        if event.opaque is not None:
            self._close("text", message, event.opaque)
        if event.is_complete and name == self._unnamed:
            self._unnamed += 1

    def _name_of(self, event: Content | Thinking) -> str | int:
        name = event.meta.get("message_id") if event.meta else None
        return self._unnamed if name is None else str(name)

    def _replace(self, message: tuple[str | None, str | int], text: str) -> None:
        """Put `text` at the first entry of the message; its other entries become empty."""
        places = self._texts.get(message)
        if places is None:
            self._extend("text", message, text)
            return
        for entry in places:
            entry.pieces = TextPieces()
        first, last = places[0], self._open_entry("text", message)
        if first.pieces is not None:
            first.pieces.append(text)
        places[1:] = [] if last is None or last is first else [last]

    def _extend(self, kind: str, message: tuple[str | None, str | int] | None, text: str) -> None:
        last = self._open_entry(kind, message)
        if last is None or last.pieces is None:
            self._append(_Entry(kind, message, pieces=(pieces := TextPieces())))
        else:
            pieces = last.pieces
        pieces.append(text)

    def _close(self, kind: str, message: tuple[str | None, str | int], opaque: Opaque) -> None:
        """Set the opaque value of the open entry."""
        self.has_opaque = True
        last, kept = self._open_entry(kind, message), json_to_keep(opaque)
        if last is None:
            self._append(_Entry(kind, message, pieces=TextPieces(), opaque=kept))
        else:
            last.opaque = kept

    def _open_entry(self, kind: str, message: tuple[str | None, str | int] | None) -> _Entry | None:
        """Return the last entry if a text of this kind and message can join it."""
        last = self._entries[-1] if self._entries else None
        is_open = last is not None and last.kind == kind and last.message == message
        return last if last is not None and is_open and last.opaque is None else None

    def _add_call(self, tool_id: str, *, ended: bool, server: str | None) -> None:
        if not ended or tool_id not in self._numbers:
            self._numbers[tool_id] = self._number_of(tool_id)
        kind = "ended" if ended else "started"
        self._append(_Entry(kind, number=self._numbers[tool_id], server=server))

    def _number_of(self, tool_id: str) -> int:
        """Return the index of the last call with this id; a call that begins is among the last ones."""
        calls = self._fold.calls
        return next(place for place in reversed(range(len(calls))) if calls[place].tool_id == tool_id)

    def _append(self, entry: _Entry) -> None:
        if self._entries is None:
            return
        self._entries.append(entry)
        if entry.kind == "text":
            self._texts.setdefault(entry.message, []).append(entry)
        if len(self._entries) > self._most:
            self._entries = None
            self._texts.clear()


def _as_json(entry: _Entry) -> dict[str, Any]:
    if entry.pieces is None:
        server = {} if entry.server is None else {"server": entry.server}
        return {"kind": entry.kind, "number": entry.number, **server}
    opaque = {} if entry.opaque is None else {"opaque": parse_json(entry.opaque)[0]}
    return {"kind": entry.kind, "text": entry.pieces.text, "message": entry.message, **opaque}


def _server_of(event: Event) -> str | None:
    """Return the label of the server of a call."""
    label = ((event.meta or {}).get("extra") or {}).get("server_label")
    return short_id(label) if isinstance(label, str) else None


def _has_content(entry: _Entry) -> bool:
    return entry.pieces is None or bool(entry.pieces.size) or entry.opaque is not None
