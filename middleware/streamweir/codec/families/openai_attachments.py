"""Reads what a chat completion has beside its text: citations, images, and sound.

Source: the Chat Completions API; OpenRouter and LiteLLM (`images`); Azure OpenAI on your data (`context`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, custom, leftover, objects_in, present_texts, text_of
from streamweir.codec.standard_shapes import file_event
from streamweir.events import Event, Meta, Reference

__all__ = ["ATTACHMENTS", "attachments_in", "audio_in"]

ATTACHMENTS: Final = frozenset({"annotations", "images", "context"})
"""The fields of a delta that `attachments_in` reads."""

_IMAGE: Final = ("type", "image_url", "index")
_PNG: Final = "image/png"


def attachments_in(delta: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield the citations and the images of a delta; and as custom data, what else its `context` holds."""
    context = delta.get("context")
    fields = context if isinstance(context, dict) else {}
    citations = [
        *_citations_in(delta.get("annotations")),
        *map(_document, objects_in(fields.get("citations"))),
    ]
    if citations := [*filter(None, citations)]:
        yield Reference(citations, meta=meta)
    for image in objects_in(delta.get("images")):
        yield _image(image, meta)
    if rest := leftover(fields, ("citations",)):
        yield custom("context", rest, meta)


def _document(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the citation of a document that Azure has searched."""
    return present_texts(
        title=source.get("title"),
        url=source.get("url"),
        snippet=source.get("content"),
        document_id=source.get("filepath"),
    )


def _image(image: Mapping[str, Any], meta: Meta | None) -> Event:
    held, beside = image.get("image_url"), and_extra(meta, leftover(image, _IMAGE))
    url = text_of(held.get("url") if isinstance(held, dict) else held)
    head, is_data, base64 = url.partition(";base64,")
    if head.startswith("data:") and is_data:
        return file_event(
            "image", {"base64": base64, "media_type": head.removeprefix("data:") or _PNG}, beside
        )
    return file_event("image", {"url": url}, beside)


def _citations_in(annotations: Any) -> list[dict[str, Any]]:
    """Return the citations in the `annotations` of a delta."""
    citations = []
    for annotation in annotations if isinstance(annotations, list) else ():
        found = annotation.get("url_citation") if isinstance(annotation, dict) else None
        if isinstance(found, dict):
            citations.append(
                present_texts(
                    title=found.get("title"),
                    url=found.get("url"),
                    snippet=found.get("content"),
                )
            )
    return citations


def audio_in(audio: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the data of a piece of sound; None if it has none."""
    if not isinstance(audio.get("data"), str) or not audio["data"]:
        return None
    return {"base64": audio["data"], "media_type": f"audio/{text_of(audio.get('format')) or 'pcm'}"}
