"""The content of a message: one text, or a list of parts. Source: the request contract, section 2."""

from __future__ import annotations

from collections.abc import Iterable

from streamweir.requests.canonical import Part

__all__ = ["content_of", "parts_of"]


def content_of(parts: Iterable[Part | None]) -> str | list[Part] | None:
    """Return parts as content: the text if there is a single text part, else the list; None without parts."""
    found = [part for part in parts if part is not None]
    if len(found) == 1 and found[0]["type"] == "text" and "opaque" not in found[0]:
        return found[0]["text"]
    return found or None


def parts_of(content: str | list[Part] | None) -> list[Part]:
    """Return the parts of a content; a text is one part, and an empty text is no part.

    A list of parts is returned itself; the caller must not change it.
    """
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
