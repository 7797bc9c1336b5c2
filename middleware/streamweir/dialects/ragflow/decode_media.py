"""Reads speech and files: hexadecimal audio, attachments and downloads."""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from streamweir.codec.coerce import custom, leftover, text_of
from streamweir.dialects.ragflow.decode_run import Run
from streamweir.events import Data, Meta

__all__ = ["audio", "files"]

_SPEECH: Final = "audio/mpeg"
_MEDIA_TYPES: Final = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "markdown": "text/markdown",
    "md": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "txt": "text/plain",
}
_DOWNLOAD: Final = "/api/v1/agents/attachments/{}/download"
"""The path at which the server (0.27) serves files of an agent."""

_NAMES: Final = ("filename", "file_name", "name")
_READ: Final = ("mime_type", "format", "url", "base64", *_NAMES)


def audio(value: Any, meta: Meta | None) -> tuple[Data, ...]:
    """Return the speech for a text, converted from MP3 in hexadecimal to the standard's base64."""
    if not isinstance(value, str) or not value:
        return ()
    with contextlib.suppress(ValueError):
        value = base64.b64encode(binascii.unhexlify(value)).decode()
    return (Data("audio", {"base64": value, "media_type": _SPEECH}, meta=meta),)


def files(value: Any, run: Run) -> Iterator[Data]:
    """Yield the files of an `attachment` or of `downloads`: one object or a list of them."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and item:
            yield _file(item, run)


def _file(item: Mapping[str, Any], run: Run) -> Data:
    """Return a file, which the server stores under a document id and without an address."""
    name = next((text_of(item[key]) for key in _NAMES if item.get(key)), "")
    kind = text_of(item.get("format")) or name.rpartition(".")[2]
    media_type = text_of(item.get("mime_type")) or _MEDIA_TYPES.get(kind.lower(), "application/octet-stream")
    where = next(
        ({key: item[key]} for key in ("base64", "url") if isinstance(item.get(key), str) and item[key]), {}
    )
    if not where and item.get("doc_id"):
        where = {"url": _DOWNLOAD.format(quote(text_of(item["doc_id"]), safe=""))}
    if not where:
        return custom("attachment", dict(item), run.meta())
    data = {**where, "media_type": media_type, **({"name": name} if name else {})}
    return Data("file", data, meta=run.meta(extra=leftover(item, _READ)))
