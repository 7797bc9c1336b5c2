"""What Gemini's API and the protocols around it have in common: files among the parts, and counts of tokens.

Source: the Gemini API (v1beta), `Part` and `UsageMetadata`; google-genai 1.5 `types.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.codec.standard_shapes import file_event, file_type
from streamweir.events import Data, Meta

__all__ = ["TOKENS", "file_of"]

TOKENS: Final = {
    "promptTokenCount": "prompt_tokens",
    "candidatesTokenCount": "completion_tokens",
    "totalTokenCount": "total_tokens",
}
"""By the API's name, the standard's."""


def file_of(file: Mapping[str, Any], meta: Meta | None) -> Data:
    """Return the file that `inlineData` holds or `fileData` points to."""
    media_type = text_of(file.get("mimeType")) or "application/octet-stream"
    data = {"media_type": media_type}
    if "data" in file:
        data["base64"] = text_of(file["data"])
    else:
        data["url"] = text_of(file.get("fileUri"))
    if name := text_of(file.get("displayName")):
        data["name"] = name
    rest = leftover(file, ("mimeType", "data", "fileUri", "displayName"))
    return file_event(file_type(media_type), data, and_extra(meta, rest))
