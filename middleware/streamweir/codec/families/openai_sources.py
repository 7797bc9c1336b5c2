"""Reads the sources beside the choices of a chunk: `citations` and `search_results`.

Perplexity sends both with every chunk, xAI sends `citations` with the last one; LiteLLM and OpenRouter pass
them on. A source becomes one citation, however often it is repeated.

Source: Perplexity's API (Sonar, chat completions), xAI's API (live search).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra
from streamweir.events import Meta, Reference

__all__ = ["Sources", "sources_in"]

_FIELDS: Final = ("search_results", "citations")
_CITATION: Final = ("title", "url", "snippet")
_MOST: Final = 10_000
"""The most sources that are remembered."""


class Sources:
    """The sources of one answer. Only marks of them are kept, besides the last list."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] = {}
        self._seen: set[int] = set()

    def read(self, given: Mapping[str, Any], meta: Meta | None) -> Iterator[Reference]:
        """Yield the sources that are new.

        Args:
            given: the fields of a chunk that hold sources, from `sources_in`.
            meta: the metadata of the message.
        """
        if given == self._last:
            return
        self._last = given
        citations, rests = [], []
        for source in (source for name in _FIELDS for source in given.get(name, ())):
            citation = _citation(source)
            mark = hash(citation.get("url") or citation["title"])
            if mark in self._seen:
                continue
            if len(self._seen) < _MOST:
                self._seen.add(mark)
            citations.append(citation)
            rests.append(_rest(source, citation))
        if citations:
            extra = {"search_results": rests} if any(rests) else None
            yield Reference(citations, meta=and_extra(meta, extra))


def sources_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that hold sources: lists of addresses, or of objects with an address or a title."""
    return {
        name: given
        for name in _FIELDS
        if isinstance(given := fields.get(name), list) and all(map(_is_source, given))
    }


def _is_source(source: Any) -> bool:
    citation = _citation(source)
    return "url" in citation or "title" in citation


def _citation(source: Any) -> dict[str, str]:
    held = source if isinstance(source, dict) else {"url": source}
    return {name: text for name in _CITATION if isinstance(text := held.get(name), str) and text}


def _rest(source: Any, citation: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a source that have no place in a citation."""
    fields = source.items() if isinstance(source, dict) else ()
    return {name: value for name, value in fields if name not in citation and value not in (None, "")}
