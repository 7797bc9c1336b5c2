"""Reads files, speech and the sources of the answer."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, custom, leftover, objects_in, text_of
from streamweir.codec.standard_shapes import file_type
from streamweir.events import Data, Event, Meta

__all__ = ["message_file", "references", "speech"]

_KINDS: Final = {"image": "image/png", "audio": "audio/mpeg", "video": "video/mp4"}
_IDS: Final = ("event", "task_id", "id", "message_id", "conversation_id", "workflow_run_id", "created_at")
_FILE: Final = (
    *_IDS,
    *("type", "belongs_to", "url", "remote_url", "filename", "mime_type"),
    *("related_id", "dify_model_identity"),
    *("transfer_method", "tenant_id", "extension", "size", "storage_key"),
)
_CITATION: Final = {
    "segment_id": "id",
    "document_name": "title",
    "content": "snippet",
    "document_id": "document_id",
}


def message_file(fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield a file of the assistant, or its other fields if it has no address; the user's are skipped."""
    url = text_of(fields.get("url") or fields.get("remote_url"))
    if fields.get("belongs_to") == "user":
        return
    if not url:
        if rest := leftover(fields, _IDS):
            yield custom("message_file", rest, meta)
        return
    kind = text_of(fields.get("type"))
    guessed = mimetypes.guess_type(url.partition("?")[0])[0]
    media_type = text_of(fields.get("mime_type")) or guessed or _KINDS.get(kind, "application/octet-stream")
    data = {"url": url, "media_type": media_type}
    if name := text_of(fields.get("filename")):
        data["name"] = name
    yield Data(file_type(kind), data, meta=and_extra(meta, leftover(fields, _FILE)))


def speech(fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield a piece of the spoken answer. The last piece has no audio: yield its other fields, if any."""
    rest = leftover(fields, (*_IDS, "audio"))
    if audio := text_of(fields.get("audio")):
        yield Data("audio", {"base64": audio, "media_type": "audio/mpeg"}, meta=and_extra(meta, rest))
    elif rest:
        yield custom("tts_message", rest, meta)


def references(resources: Any) -> list[dict[str, Any]]:
    """Return the citations for retrieved resources."""
    return [citation for resource in objects_in(resources) if (citation := _citation(resource))]


def _citation(resource: Mapping[str, Any]) -> dict[str, Any]:
    citation = {
        ours: resource[name] for name, ours in _CITATION.items() if isinstance(resource.get(name), str)
    }
    score = resource.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool):
        citation["score"] = score
    return citation
