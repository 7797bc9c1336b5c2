"""Files in requests: reads and writes data URLs, and derives the kind of a file from its media type."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

from streamweir.requests.canonical import Part
from streamweir.requests.fields import Fields

__all__ = ["data_url", "described_file", "file_kind", "file_part", "media_type_of", "present_file", "url_of"]

FileKind = Literal["image", "audio", "video", "file"]

_KINDS: Final[Mapping[str, FileKind]] = {"image": "image", "audio": "audio", "video": "video"}
_DEFAULT: Final[Mapping[str, str]] = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
_BINARY: Final = "application/octet-stream"
_PLACES: Final = frozenset({"url", "base64", "file_id"})


def file_kind(media_type: str | None) -> FileKind:
    """Return the type of the part that holds a file of that media type."""
    return _KINDS.get((media_type or "").partition("/")[0].lower(), "file")


def file_part(
    kind: FileKind | None,
    *,
    url: str | None = None,
    data: str | None = None,
    file_id: str | None = None,
    media_type: str | None = None,
    name: str | None = None,
) -> Part:
    """Return the part that holds a file.

    Args:
        kind: the type of the part; None: derived from the media type.
        url: the URL of the file; a data URL is split into media type and bytes.
        data: the bytes of the file, in base64.
        file_id: the id of a file that the upstream has.
        media_type: the media type of the file.
        name: the name of the file.
    """
    if data is not None and data.startswith("data:"):
        url, data = data, None
    if url is not None and url[:5].lower() == "data:":
        held, data = _taken_apart(url)
        url, media_type = None, media_type or held
    kind = kind or file_kind(media_type or (mimetypes.guess_type(url or name or "")[0]))
    part: Part = {"type": kind}
    fields = {"url": url, "base64": data, "file_id": file_id, "media_type": media_type, "name": name}
    part.update({key: value for key, value in fields.items() if value})  # type: ignore[typeddict-item]
    return part


def present_file(
    fields: Fields, part: Part, wanted: str = "a file with `url`, `base64` or `file_id`"
) -> Part:
    """Return a part of a request that holds a file.

    Args:
        fields: the fields from which the part was read.
        part: the part, as `file_part` returns it.
        wanted: the form that the fields must have, for the error.

    Raises:
        RequestError: there is no file: neither a URL nor bytes nor an id, or they are empty.
    """
    if _PLACES.isdisjoint(part):
        raise fields.error("", wanted)
    return part


def media_type_of(part: Part) -> str:
    """Return the part's media type; if it has none, the likely one for its type and name."""
    guessed = mimetypes.guess_type(part.get("name") or part.get("url") or "")[0]
    return part.get("media_type") or guessed or _DEFAULT.get(part["type"], _BINARY)


def data_url(part: Part) -> str:
    """Return the data URL of a part with `base64`."""
    return f"data:{media_type_of(part)};base64,{part['base64']}"


def described_file(part: Part) -> dict[str, str]:
    """Return a file as an object with `url` or `base64`, and, if known, `media_type` and `name`."""
    kept = ("url", "base64", "media_type", "name")
    return {name: part[name] for name in kept if name in part}  # type: ignore[literal-required]


def url_of(part: Mapping[str, Any] | Part) -> str | None:
    """Return the part's URL, or a data URL of its bytes; None if the file is only known by an id."""
    if "url" in part:
        return str(part["url"])
    return data_url(part) if "base64" in part else None  # type: ignore[arg-type]


def _taken_apart(url: str) -> tuple[str | None, str]:
    """Return the media type of a data URL, and the URL's bytes in base64."""
    head, _, body = url[5:].partition(",")
    media_type, *attributes = [item.strip() for item in head.split(";")]
    if any(item.lower() == "base64" for item in attributes):
        return media_type or None, body
    return media_type or "text/plain", base64.b64encode(unquote_to_bytes(body)).decode()
