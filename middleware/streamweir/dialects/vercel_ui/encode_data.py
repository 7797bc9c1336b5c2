"""Writes data, files and sources; data without a chunk becomes a `data-` chunk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from streamweir.dialects.vercel_ui.shared_metadata import with_own_words
from streamweir.events import Data, Event, Reference, wire_data

__all__ = ["data_chunk", "file_chunk", "named_chunk", "source_chunks"]

Chunk = dict[str, Any]

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_IN_SOURCES: Final = ("url", "title")
_IN_FILES: Final = ("url", "base64", "media_type")
_UNKNOWN_MEDIA: Final = "application/octet-stream"


def named_chunk(event: Event, part: str | None = None) -> Chunk:
    """Return `event` under the standard's name; a later chunk of the same `part` replaces it."""
    chunk = {"type": f"data-{event.type}", "data": wire_data(event)}
    return {**chunk, "id": part} if part else chunk


def data_chunk(event: Data) -> Chunk:
    """Return data under the name of its kind; the application's own data keeps its name."""
    match event:
        case Data(data_type="custom", data={"name": str(name), "value": value}, metadata=None):
            return {"type": f"data-{_NOT_IN_NAMES.sub('-', name)}", "data": value}
    return named_chunk(event)


def file_chunk(event: Data) -> Chunk:
    """Return a file by its address, or by a data URL that holds it; a file with only an id becomes data."""
    given: Mapping[str, Any] = event.data if isinstance(event.data, dict) else {}
    if not (given.get("url") or given.get("base64")):
        return named_chunk(event)
    media_type = given.get("media_type") or _UNKNOWN_MEDIA
    url = given.get("url") or f"data:{media_type};base64,{given.get('base64', '')}"
    return _with_own({"type": "file", "url": url, "mediaType": media_type}, given, _IN_FILES)


def source_chunks(event: Reference, before: int) -> list[Chunk]:
    """Return a chunk for each citation; `before` is the number of earlier citations."""
    return [_source(citation, number) for number, citation in enumerate(event.citations, before + 1)]


def _source(citation: Mapping[str, Any], number: int) -> Chunk:
    title = citation.get("title")
    source = {"sourceId": f"source-{number}"}
    if url := citation.get("url"):
        titled = {"title": title} if title else {}
        return _with_own({"type": "source-url", **source, "url": url, **titled}, citation, _IN_SOURCES)
    name = title or citation.get("id") or citation.get("document_id") or f"Source {number}"
    document = {"type": "source-document", **source, "mediaType": "text/plain", "title": name}
    return _with_own(document, citation, ("title",))


def _with_own(chunk: Chunk, given: Mapping[str, Any], placed: tuple[str, ...]) -> Chunk:
    """Return `chunk` with the fields of `given` that have no place in it, as metadata."""
    return with_own_words(chunk, {name: value for name, value in given.items() if name not in placed})
