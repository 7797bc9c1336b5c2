"""Reads the values in addition to the answer: sources, files, speech, a request for approval."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, meta_of, object_in, objects_in, text_of
from streamweir.events import Data, Event, Interaction

__all__ = ["approval", "files", "references", "speech"]

_ACTION: Final = ("id", "mapping", "elements", "data")


def references(documents: Any) -> list[dict[str, Any]]:
    """Return the citations for source documents."""
    found = []
    for document in objects_in(documents):
        metadata = object_in(document, "metadata")
        source = text_of(metadata.get("source") or metadata.get("url"))
        texts = {
            "id": text_of(document.get("id")),
            "title": text_of(metadata.get("title") or metadata.get("fileName")) or source,
            "url": source if source.startswith(("http://", "https://")) else "",
            "snippet": text_of(document.get("pageContent")),
        }
        found.append({name: text for name, text in texts.items() if text})
    return [citation for citation in found if citation]


def files(annotations: Any) -> Iterator[Event]:
    """Yield the files that an answer refers to."""
    for file in annotations if isinstance(annotations, list) else ():
        url = text_of(file.get("filePath") or file.get("url")) if isinstance(file, dict) else ""
        if not url:
            yield custom("fileAnnotations", file)
            continue
        name = text_of(file.get("fileName"))
        media_type = mimetypes.guess_type(name or url)[0] or "application/octet-stream"
        rest = leftover(file, ("filePath", "url", "fileName"))
        data = {"url": url, "media_type": media_type, **({"name": name} if name else {})}
        yield Data("file", data, meta=meta_of(extra=rest))


def speech(value: Any) -> Iterator[Event]:
    """Yield a piece of the spoken answer."""
    chunk = value.get("audioChunk") if isinstance(value, dict) else value
    if text := text_of(chunk):
        yield Data("audio", {"base64": text, "media_type": "audio/mpeg"})


def approval(action: Any) -> Event | None:
    """Return the question to a person that the flow waits for; None if there is no question."""
    if not isinstance(action, dict):
        return custom("action", action) if action else None
    data = object_in(action, "data")
    name = text_of(data.get("nodeLabel")) or None
    ui = {
        "elements": action.get("elements"),
        "mapping": action.get("mapping"),
        **(leftover(action, _ACTION) or {}),
        **(leftover(data, ("nodeId", "nodeLabel", "input")) or {}),
    }
    return Interaction(
        text_of(action.get("id")) or "action",
        "approval",
        title=name,
        description=text_of(data.get("input")) or None,
        ui={key: value for key, value in ui.items() if value} or None,
        meta=meta_of(node_id=data.get("nodeId"), node_name=name),
    )
