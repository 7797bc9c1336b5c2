"""Writes the source of an image or a document: its bytes, its text, its URL or its id.

The API takes the bytes of four kinds of images and of PDF, and documents of plain text as text; it refuses a
request with bytes of any other media type.

Source: the Messages API (2023-06-01): `Base64ImageSource`, `Base64PDFSource`, `PlainTextSource`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from streamweir.requests.canonical import Part
from streamweir.requests.media import media_type_of

__all__ = ["written_source"]

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ALIASES: Final[Mapping[str, str]] = {"image/jpg": "image/jpeg"}
_PDF: Final = "application/pdf"
_TEXTS: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


def written_source(part: Part) -> dict[str, Any] | None:
    """Return the source of a file; None if its bytes are of a kind that the API does not take."""
    if "base64" in part:
        return _of_bytes(part)
    if "url" in part:
        return {"type": "url", "url": part["url"]}
    return {"type": "file", "file_id": part.get("file_id", "")}


def _of_bytes(part: Part) -> dict[str, Any] | None:
    given = media_type_of(part).partition(";")[0].strip().lower()
    media_type, data = _ALIASES.get(given, given), part["base64"]
    if media_type in (_IMAGES if part["type"] == "image" else (_PDF,)):
        return {"type": "base64", "media_type": media_type, "data": data}
    if part["type"] == "file" and (media_type.startswith("text/") or media_type in _TEXTS):
        return _of_text(data)
    return None


def _of_text(data: str) -> dict[str, Any] | None:
    """Return the source that holds a text; None if the bytes are no UTF-8."""
    try:
        text = base64.b64decode(data).decode()
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}
