"""Reads the parts of messages and artifacts: text, data, files."""

from __future__ import annotations

import mimetypes
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from streamweir.codec.coerce import and_extra, custom, dataframe, leftover, named_data, text_of
from streamweir.codec.standard_shapes import file_type
from streamweir.dialects.a2a.decode_adk import call_event, is_pending, pending_calls
from streamweir.dialects.a2a.decode_envelope import listed
from streamweir.events import Content, Data, Event, Meta, Status, Thinking, ids_of

__all__ = ["Part", "beside_events", "data_of", "is_thought", "part_events", "parts_of", "text_of_parts"]

_PART: Final = ("kind", "text", "data", "file", "url", "raw", "mediaType", "filename")
_FILE: Final = (
    *("uri", "bytes", "fileWithUri", "fileWithBytes", "mimeType", "name"),
    *("url", "raw", "mediaType", "filename"),
)


class Part(NamedTuple):
    """A part of a message or an artifact, in any version."""

    text: str | None
    """The text of the part; None for a part that is not a text."""
    fields: Mapping[str, Any]
    is_nested: bool = False
    """Whether the data of the part are nested one level deeper, as in the HTTP+JSON form of 0.3."""


def parts_of(holder: Mapping[str, Any], *, is_nested: bool = False, beside: Any = None) -> Iterator[Part]:
    """Yield the parts of a message or an artifact, which 0.3 calls `content` in its HTTP+JSON form.

    Args:
        holder: the message or the artifact.
        is_nested: whether the data of its parts are nested one level deeper.
        beside: the metadata of the object that holds it.
    """
    nested = is_nested or "content" in holder
    pending = pending_calls(holder.get("metadata"), beside)
    for fields in listed(holder.get("parts")) or listed(holder.get("content")):
        if fields and isinstance(fields, dict):
            text = fields.get("text")
            part = Part(text if isinstance(text, str) else None, fields, nested)
            if not (pending and is_pending(fields.get("metadata"), data_of(part), pending)):
                yield part


def text_of_parts(parts: Iterable[Part]) -> str:
    """Return the joined texts of parts. They are pieces of one text, so no separator is added."""
    return "".join(part.text for part in parts if part.text and not is_thought(part))


def is_thought(part: Part) -> bool:
    """Return whether a part is a text that the agent's framework marks as reasoning."""
    metadata = part.fields.get("metadata")
    return isinstance(metadata, dict) and metadata.get("adk_thought") is True


def part_events(
    parts: Iterable[Part], meta: Meta | None, *, name: str = "", is_progress: bool = False
) -> Iterator[Event]:
    """Yield the events of parts. The first event has the metadata of all parts.

    Args:
        parts: the parts of one message or artifact.
        meta: the metadata of the message or artifact.
        name: the name of the artifact.
        is_progress: whether texts are progress reports and no part of the answer.
    """
    for part in parts:
        event = _part_event(part, meta, name, is_progress=is_progress)
        if event is not None:
            yield event
            meta = ids_of(meta)
    yield from beside_events(meta)


def beside_events(meta: Meta | None) -> Iterator[Event]:
    """Yield an event for the metadata of a text that is empty or repeated."""
    if meta and "extra" in meta:
        yield Status("workflow", "running", meta=meta)


def data_of(part: Part) -> Any:
    """Return the value of a data part."""
    data = part.fields.get("data")
    match data:
        case {"data": inner, **rest} if part.is_nested and not rest and "kind" not in part.fields:
            return inner
    return data


def _part_event(part: Part, meta: Meta | None, name: str, *, is_progress: bool) -> Event | None:
    """Return the event of a part; None for an empty text."""
    meta = and_extra(meta, leftover(part.fields, _PART))
    if part.text is None:
        return call_event(part.fields.get("metadata"), data_of(part), meta) or _data_event(part, meta, name)
    if not part.text:
        return next(beside_events(meta), None)
    if is_thought(part):
        return Thinking(part.text, "reasoning", meta=meta)
    return Thinking(part.text, meta=meta) if is_progress else Content(part.text, meta=meta)


def _data_event(part: Part, meta: Meta | None, name: str) -> Data:
    inner = part.fields.get("file")
    given: Mapping[str, Any] = inner if isinstance(inner, dict) else part.fields
    if file := _file_of(given):
        beside = leftover(given, _FILE) if given is inner else None
        return Data(file_type(file["media_type"]), file, meta=and_extra(meta, beside))
    match data_of(part):
        case {"columns": list(columns), "rows": list(rows)} as table:
            title, rest = text_of(table.get("name")) or name, leftover(table, ("columns", "rows", "name"))
            return Data("dataframe", dataframe(title, rows, columns), meta=and_extra(meta, rest))
        case None if "data" not in part.fields:
            return custom(text_of(part.fields.get("kind")) or "part", part.fields, meta)
        case data:
            return named_data(name or "data", data, meta)


def _file_of(file: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a file by its URL or with its bytes, in the forms of 1.0 and 0.3."""
    url = text_of(file.get("url") or file.get("uri") or file.get("fileWithUri"))
    content = text_of(file.get("raw") or file.get("bytes")) or _once_decoded(
        text_of(file.get("fileWithBytes"))
    )
    name = text_of(file.get("filename") or file.get("name"))
    if not (url or content):
        return None
    given = text_of(file.get("mediaType") or file.get("mimeType"))
    guessed = mimetypes.guess_type(name or url.partition("?")[0])[0] if not given or "*" in given else None
    media_type = guessed or given or "application/octet-stream"
    found = {"url": url} if url else {"base64": content}
    named = {"name": name} if name else {}
    return {**found, "media_type": media_type, **named}


def _once_decoded(content: str) -> str:
    """Return bytes encoded once in base64; the SDK of 0.3 encodes them twice in the HTTP+JSON form."""
    try:
        inner = b64decode(content, validate=True)
        b64decode(inner, validate=True)
    except Base64Error:
        return content
    return inner.decode("ascii")
