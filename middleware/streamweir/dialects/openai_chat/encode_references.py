"""Writes citations in the form that OpenAI's clients read, or RAGFlow's clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.families.ragflow_citations import write_chunk

__all__ = ["REFERENCES", "written_citation"]

REFERENCES: Final = ("annotations", "reference")
"""The field of a message for its citations: OpenAI's or RAGFlow's."""


def written_citation(citation: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    """Return `citation` in the form of a field of `REFERENCES`; None if the citation has no place in it."""
    if field == "reference":
        return write_chunk(citation)
    url = citation.get("url")
    if not isinstance(url, str):
        return None
    cited = {"url": url, "title": str(citation.get("title") or ""), "start_index": 0, "end_index": 0}
    return {"type": "url_citation", "url_citation": cited}
