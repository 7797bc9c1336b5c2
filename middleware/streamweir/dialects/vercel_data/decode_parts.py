"""Reads sources and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, meta_of, text_of
from streamweir.codec.standard_shapes import file_event, file_type
from streamweir.events import Event, Reference

__all__ = ["read_file", "read_source"]

_SOURCE: Final = ("id", "title", "url", "sourceType")
_FILE: Final = ("data", "mimeType")


def read_source(source: Mapping[str, Any], message_id: str | None) -> Event:
    """Return a source as a citation."""
    citation = {name: text for name in _SOURCE[:3] if (text := text_of(source.get(name)))}
    return Reference([citation], meta=meta_of(message_id=message_id, extra=leftover(source, _SOURCE)))


def read_file(file: Mapping[str, Any], message_id: str | None) -> Event:
    """Return a file, which holds its bytes."""
    media_type = text_of(file.get("mimeType")) or "application/octet-stream"
    data = {"base64": text_of(file.get("data")), "media_type": media_type}
    meta = meta_of(message_id=message_id, extra=leftover(file, _FILE))
    return file_event(file_type(media_type), data, meta)
