"""Reads the blocks that are no part of the answer's text: notes of the server, and its files.

Source: the Messages API, content blocks of responses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.codec.standard_shapes import file_event
from streamweir.events import Event, Meta, State, Status

__all__ = ["NOTES", "note"]

NOTES: Final = frozenset({"compaction", "container_upload", "fallback", "mcp_tool_listing"})
"""The types of these blocks."""

_OPAQUE: Final = ("encrypted_content", "signature")
"""Fields of a compaction that are for the upstream alone: they are kept with the turn."""


def note(block: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return the event of a block whose type is in `NOTES`. A compaction without content has only started."""
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


def _model(target: Any) -> str:
    """Return the name of the model that a fallback went to."""
    return text_of(target.get("model") if isinstance(target, dict) else target)
