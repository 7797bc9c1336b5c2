"""Reads the sources of an answer of Gemini: `citationMetadata` and `groundingMetadata`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, objects_in, present_texts

__all__ = ["citations"]

_SOURCES: Final = ("web", "retrievedContext", "maps")


def citations(metadata: Any) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the citations in `citationMetadata` or `groundingMetadata`, and its other fields."""
    if not isinstance(metadata, dict):
        return [], None
    found = [
        citation
        for name in ("citationSources", "citations", "groundingChunks")
        for source in objects_in(metadata.get(name))
        if (citation := _citation(source))
    ]
    return found, leftover(metadata, ("citationSources", "citations", "groundingChunks"))


def _citation(source: Mapping[str, Any]) -> dict[str, Any]:
    held = next((source[name] for name in _SOURCES if isinstance(source.get(name), dict)), source)
    return present_texts(
        title=held.get("title"),
        url=held.get("uri"),
        snippet=held.get("text"),
        document_id=held.get("documentName"),
    )
