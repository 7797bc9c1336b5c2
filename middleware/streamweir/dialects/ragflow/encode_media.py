"""Writes speech and files: hexadecimal audio and downloads."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from streamweir.codec.coerce import leftover, text_of
from streamweir.events import Data

__all__ = ["download_of", "hexadecimal_audio"]


def hexadecimal_audio(data: Mapping[str, Any]) -> str | None:
    """Return the `audio_binary` of a standard audio; None if the audio has only an address."""
    try:
        return base64.b64decode(text_of(data.get("base64")), validate=True).hex() or None
    except ValueError:
        return None


def download_of(event: Data, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of `downloads` for a standard file, image or sound; `kept` is the entry that the file
    was read from.
    """
    data = event.data if isinstance(event.data, dict) else {}
    address = {} if kept.get("doc_id") else leftover(data, ("name", "media_type")) or {}
    names = {"filename": text_of(data.get("name")), "mime_type": text_of(data.get("media_type"))}
    return {**kept, **names, **address}
