"""Reads files and references, and yields each of them once."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, objects_in, text_in, text_of
from streamweir.events import Data, DataType, Event, Meta, Reference
from streamweir.ids import RecentIds
from streamweir.jsontext import json_to_keep

__all__ = ["MEDIA", "Media", "digest_of"]

_IMAGE: Final[tuple[DataType, str]] = ("image", "image/png")
_AUDIO: Final[tuple[DataType, str]] = ("audio", "audio/mpeg")
_VIDEO: Final[tuple[DataType, str]] = ("file", "video/mp4")
_KINDS: Final[Mapping[str, tuple[DataType, str]]] = {
    "image": _IMAGE,
    "images": _IMAGE,
    "audio": _AUDIO,
    "response_audio": _AUDIO,
    "videos": _VIDEO,
    "files": ("file", "application/octet-stream"),
}
MEDIA: Final = (*_KINDS, "citations", "references", "extra_data")
"""The fields that hold files and references."""

_FILE: Final = ("url", "content", "base64_audio", "mime_type", "format", "filepath", "filename", "name", "id")
_DOCUMENT: Final = {"id": "id", "name": "title", "content": "snippet"}


class Media:
    """Reads the files and references of one stream.

    Args:
        room: the number of bytes, roughly, that may be kept to recognise repetitions.
    """

    def __init__(self, room: int) -> None:
        self._seen: RecentIds[None] = RecentIds(room)
        self._speaks = False

    def read(self, fields: Mapping[str, Any], meta: Meta | None, *, is_end: bool = False) -> Iterator[Event]:
        """Yield the files and references that are new; the end of a run repeats all of its files."""
        for name in _KINDS.keys() & fields.keys():
            if name == "response_audio" and is_end and self._speaks:
                continue
            self._speaks = self._speaks or name == "response_audio"
            given = fields[name]
            for file in given if isinstance(given, list) else (given,):
                if isinstance(file, dict) and self._is_new(name, file):
                    yield from _file(name, file, meta)
        yield from self._references(fields, meta)
        if isinstance(extra := fields.get("extra_data"), dict):
            yield from self._references(extra, meta)

    def _references(self, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        for name, read in (("citations", _citations), ("references", _documents)):
            if found := [cited for cited in read(fields.get(name)) if self._is_new(name, cited)]:
                yield Reference(found, meta=meta)

    def _is_new(self, name: str, value: Mapping[str, Any]) -> bool:
        """Return whether a file is new; two parts of a spoken answer may be equal."""
        own = text_of(value.get("id")) if name in _KINDS else ""
        if name == "response_audio":
            return True
        digest = own or digest_of(value)
        if digest in self._seen:
            return False
        self._seen.add(digest, None)
        return True


def digest_of(value: Any) -> str:
    """Return a digest of a JSON value."""
    return hashlib.blake2b(json_to_keep(value), digest_size=16).hexdigest()


def _file(name: str, file: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    url, content = text_of(file.get("url")), text_in(file, "content", "base64_audio")
    if not url and not content:
        return
    kind, usual = _KINDS[name]
    ending = text_of(file.get("format")) or url.partition("?")[0].rpartition(".")[2]
    media_type = text_of(file.get("mime_type")) or mimetypes.guess_type(f"file.{ending}")[0] or usual
    data: dict[str, Any] = {"url": url} if url else {"base64": content}
    data |= {"media_type": media_type, **(leftover(file, _FILE) or {})}
    if called := text_in(file, "filename", "name"):
        data["name"] = called
    yield Data(kind, data, meta=meta)


def _citations(given: Any) -> Iterator[dict[str, Any]]:
    """Yield the pages and documents that a model cites."""
    if not isinstance(given, dict):
        return
    for page in objects_in(given.get("urls")):
        yield _cited(url=text_of(page.get("url")), title=text_of(page.get("title")))
    for document in objects_in(given.get("documents")):
        yield _cited(
            title=text_in(document, "document_title", "file_name"),
            snippet=text_of(document.get("cited_text")),
        )


def _documents(given: Any) -> Iterator[dict[str, Any]]:
    """Yield the documents that were found in a knowledge base."""
    for search in objects_in(given):
        documents = search.get("references")
        for document in documents if isinstance(documents, list) else ():
            if isinstance(document, dict):
                found = {ours: text_of(document.get(name)) for name, ours in _DOCUMENT.items()}
                about = document.get("meta_data")
                url = text_in(about, "url", "source") if isinstance(about, dict) else ""
                yield _cited(**found, url=url)
            elif isinstance(document, str) and document:
                yield {"snippet": document}


def _cited(**fields: str) -> dict[str, Any]:
    return {name: text for name, text in fields.items() if text}
