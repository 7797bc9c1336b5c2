"""Reads data, files and sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.carried_events import read_carried
from streamweir.codec.coerce import and_extra, leftover, meta_of, named_data, text_of
from streamweir.codec.standard_shapes import citations, file_event, file_type
from streamweir.dialects.vercel_ui.shared_metadata import own_words
from streamweir.events import Data, Event, Reference

__all__ = ["read_data", "read_file", "read_reasoning_file", "read_source"]

_DATA: Final = ("type", "data", "id", "transient")
_SOURCE: Final = ("type", "sourceId", "url", "title", "filename", "mediaType", "providerMetadata")
_FILE: Final = ("type", "url", "mediaType", "providerMetadata")


def read_data(message: Mapping[str, Any]) -> Event:
    """Return data of the application, or the standard event that is written in this form."""
    name = str(message["type"]).removeprefix("data-")
    carried = read_carried(name, message.get("data"), {})
    if carried is not None:
        return carried
    fields = leftover(message, _DATA) or {}
    if message.get("id") is not None:
        fields["id"] = message["id"]
    return named_data(name or "data", message.get("data"), meta_of(extra=fields))


def read_file(message: Mapping[str, Any]) -> Data:
    """Return a file by its address; if the address is a data URL, the file in it."""
    url, media_type = text_of(message.get("url")), text_of(message.get("mediaType"))
    head, is_data, base64 = url.partition(";base64,")
    place = {"base64": base64} if is_data and head.startswith("data:") else {"url": url}
    given = {**place, "media_type": media_type or "application/octet-stream", **own_words(message)}
    return file_event(file_type(media_type), given, meta_of(extra=leftover(message, _FILE)))


def read_reasoning_file(message: Mapping[str, Any]) -> Data:
    """Return a file that the model made during reasoning; an image is a file, too."""
    file = read_file(message)
    kind = file.data_type if file.data_type == "custom" else "file"
    return msgspec.structs.replace(file, data_type=kind, metadata={"description": "reasoning"})


def read_source(message: Mapping[str, Any]) -> Event:
    """Return a source as a citation."""
    own = own_words(message)
    given = {"title": message.get("title"), "url": message.get("url"), **own}
    if not own:
        given["id"] = message.get("sourceId")
    if filename := text_of(message.get("filename")):
        given["document_id"] = filename
    fitting, rest = citations([{name: value for name, value in given.items() if value is not None}])
    return Reference(fitting, meta=and_extra(meta_of(extra=leftover(message, _SOURCE)), rest))
