"""Reads the blocks that are not part of the answer's text: notes of the server, and its files.

Source: the Messages API, content blocks of responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.codec.room import Room
from streamweir.codec.standard_shapes import file_event
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Event, Meta, State, Status
from streamweir.jsontext import write_json

__all__ = ["NOTES", "Compaction", "note"]

NOTES: Final = frozenset({"compaction", "container_upload", "fallback", "mcp_tool_listing"})
"""The types of the blocks that this module reads."""

_OPAQUE: Final = ("encrypted_content", "signature")
"""The fields of a compaction that only the upstream can read; they are not shown to people."""


def note(block: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return the event of a block whose type is in `NOTES`. A compaction without content has only begun."""
    match block:
        case {"type": "compaction"}:
            content = block.get("content")
            rest = and_extra(meta, leftover(block, ("type", "content", *_OPAQUE)))
            state: State = "finished" if content else "started"
            return Status("session", state, "compaction", content or None, meta=rest)
        case {"type": "fallback"}:
            detail = leftover(block, ("type",))
            return Status("model", "finished", _model(block.get("to")) or "fallback", detail, meta=meta)
        case {"type": "container_upload", "file_id": str(file_id)}:
            rest = and_extra(meta, leftover(block, ("type", "file_id")))
            return file_event("file", {"file_id": file_id}, rest)
    return Status("phase", "finished", text_of(block.get("type")), leftover(block, ("type",)), meta=meta)


class Compaction:
    """Collects one compaction, whose fields arrive with its start and in pieces of its content.

    state   entered by         holds
    ─────   ────────────────   ──────────────────────────────────────────────
    empty   construction       nothing
            `take`
    begun   `begin`, `add`     the fields of the block without its type

    Args:
        room: for the bytes of the fields.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._fields: dict[str, Any] | None = None
        self._content = TextPieces()
        self._size = 0

    @property
    def has_begun(self) -> bool:
        """Whether the state is `begun`."""
        return self._fields is not None

    def begin(self, block: Mapping[str, Any]) -> None:
        """Note the start of a block."""
        self._forget()
        self.add(block)

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add a piece of the block: its content is appended, other fields are replaced.

        Raises:
            LimitExceeded: the fields are larger than can be kept.
        """
        self._fields = self._fields or {}
        for name, value in piece.items():
            if name == "content" and isinstance(value, str):
                self._take(self._content.append(value))
            elif name != "type":
                self._take(len(write_json(value)))
                self._fields[name] = value

    def take(self) -> dict[str, Any] | None:
        """Return the fields and forget them; None if there is no compaction, or it has failed."""
        fields, text = self._fields, self._content.text
        if fields is None:
            return None
        self._forget()
        if not text and not any(value is not None for value in fields.values()):
            return None
        return {**fields, "content": text or None}

    def _take(self, size: int) -> None:
        self._room.take(size)
        self._size += size

    def _forget(self) -> None:
        self._room.give_back(self._size)
        self._fields, self._content, self._size = None, TextPieces(), 0


def _model(target: Any) -> str:
    """Return the name of the model that a fallback switched to."""
    return text_of(target.get("model") if isinstance(target, dict) else target)
