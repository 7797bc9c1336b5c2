"""Reads and writes RAGFlow's `reference`: the retrieved chunks, and the chunks from each document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, custom, text_of
from streamweir.events import Event, Meta, Reference
from streamweir.jsontext import json_digest

__all__ = ["NewReferences", "read_reference", "write_chunk", "write_reference"]

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "id": ("id", "chunk_id"),
    "title": ("document_name", "docnm_kwd", "doc_name"),
    "url": ("url",),
    "snippet": ("content", "content_with_weight"),
    "document_id": ("document_id", "doc_id"),
    "score": ("similarity", "score"),
}
"""For each field of a citation: its names in all routes and versions. The first name is written."""


class NewReferences:
    """Reads the references of one stream. The server repeats them, and a repetition is left out."""

    def __init__(self) -> None:
        self._last = b""

    def read(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the citations of a reference, unless it is empty or a repetition."""
        if not value:
            return
        if not isinstance(value, dict | list):
            yield custom("reference", value, meta)
            return
        digest = json_digest(value)
        if digest == self._last:
            return
        self._last = digest
        citations, extra = read_reference(value)
        if citations:
            yield Reference(citations, meta=and_extra(meta, extra))
        elif extra:
            yield custom("reference", extra, meta)


def read_reference(reference: Any) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the citations in a reference, and the fields that have no place in a citation.

    Chunks are a list or an object. The keys of the object are the numbers in the text's `[ID:n]`; they become
    the ids.
    """
    fields = reference if isinstance(reference, dict) else {"chunks": reference}
    chunks = fields.get("chunks")
    citations: list[dict[str, Any]] = []
    rests: dict[str, Any] = _without_citation(chunks)
    for key, chunk in _keyed(chunks):
        citation, rest = _citation(key, chunk)
        if citation:
            citations.append(citation)
            if rest:
                rests[str(citation.get("id", len(citations) - 1))] = rest
    extra = {name: value for name, value in fields.items() if name != "chunks" and value}
    if rests:
        extra["chunks"] = rests
    return citations, extra or None


def write_reference(
    citations: Iterable[Mapping[str, Any]], extra: Mapping[str, Any] | None, *, keyed: bool
) -> dict[str, Any]:
    """Return the reference with these citations: chunks by key (agent events), or as a list."""
    extra = extra or {}
    rests = extra.get("chunks")
    rests = rests if isinstance(rests, dict) else {}
    chunks: dict[str, Any] = {}
    for index, citation in enumerate(citations):
        key = text_of(citation.get("id")) or str(index)
        rest = rests.get(key)
        chunks[key] = {**write_chunk(citation), **(rest if isinstance(rest, dict) else {})}
    aggregates = extra.get("doc_aggs") or _aggregates(chunks.values(), keyed=keyed)
    if keyed:
        return {"chunks": chunks, "doc_aggs": aggregates}
    return {"total": len(chunks), "chunks": list(chunks.values()), "doc_aggs": aggregates}


def _keyed(chunks: Any) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    pairs: Iterable[tuple[str | None, Any]] = (
        chunks.items()
        if isinstance(chunks, dict)
        else ((None, chunk) for chunk in chunks)
        if isinstance(chunks, list)
        else ()
    )
    return ((key, chunk) for key, chunk in pairs if isinstance(chunk, dict))


def _without_citation(chunks: Any) -> dict[str, Any]:
    """Return the members of the chunks that are not citations."""
    if isinstance(chunks, dict):
        return {key: value for key, value in chunks.items() if value and not isinstance(value, dict)}
    return {}


def _citation(key: str | None, chunk: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    citation: dict[str, Any] = {"id": key} if key else {}
    used = {name for name in _FIELDS["id"] if key and chunk.get(name) == key}
    for field, names in _FIELDS.items():
        name = next((name for name in names if chunk.get(name) not in (None, "")), None)
        if name is None or field in citation:
            continue
        value = chunk[name]
        if field != "score":
            value = text_of(value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            continue
        citation[field] = value
        used.add(name)
    return citation, {name: value for name, value in chunk.items() if name not in used and value is not None}


def write_chunk(citation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunk of a citation."""
    return {names[0]: citation[field] for field, names in _FIELDS.items() if citation.get(field) is not None}


def _aggregates(chunks: Iterable[Mapping[str, Any]], *, keyed: bool) -> Any:
    """Return the number of chunks of each document, in RAGFlow's form."""
    found: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        name = text_of(chunk.get("document_name"))
        if name:
            entry = found.setdefault(
                name, {"doc_name": name, "doc_id": chunk.get("document_id", ""), "count": 0}
            )
            entry["count"] += 1
    return found if keyed else list(found.values())
