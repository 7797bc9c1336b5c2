"""Reads what a chat completion has beside its text: citations, and sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.coerce import text_of

__all__ = ["audio_in", "citations_in"]


def citations_in(annotations: Any) -> list[dict[str, Any]]:
    """Return the citations in the `annotations` of a delta."""
    citations = []
    for annotation in annotations if isinstance(annotations, list) else ():
        found = annotation.get("url_citation") if isinstance(annotation, dict) else None
        if isinstance(found, dict):
            texts = {
                "title": found.get("title"),
                "url": found.get("url"),
                "snippet": found.get("content"),
            }
            citations.append({name: text for name, text in texts.items() if isinstance(text, str) and text})
    return citations


def audio_in(audio: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the data of a piece of sound; None if it has none."""
    if not isinstance(audio.get("data"), str) or not audio["data"]:
        return None
    return {"base64": audio["data"], "media_type": f"audio/{text_of(audio.get('format')) or 'pcm'}"}
