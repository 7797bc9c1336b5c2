"""Writes multipart forms. Source: RFC 7578."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.jsontext import write_json_text
from streamweir.requests.errors import RequestError
from streamweir.requests.written import Upload

__all__ = ["multipart_form"]

_ESCAPES: Final = {'"': "%22", "\r": "%0D", "\n": "%0A"}
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)*", re.ASCII)
_BINARY: Final = "application/octet-stream"


def multipart_form(fields: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the media type and the bytes of a form.

    Args:
        fields: the fields by name; a value is a text, an `Upload` or a list of these, and any other value is
            written as JSON.

    Raises:
        RequestError: a file is not valid base64.
    """
    boundary = secrets.token_hex(16)
    pieces = [piece for name, value in fields.items() for piece in _pieces(name, value)]
    body = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), piece) for piece in pieces)
    return f"multipart/form-data; boundary={boundary}", body + b"--%s--\r\n" % boundary.encode()


def _pieces(name: str, value: Any) -> Iterator[bytes]:
    match value:
        case None:
            return
        case list() as items:
            for item in items:
                yield from _pieces(name, item)
        case Upload():
            yield _file(name, value)
        case _:
            text = value if isinstance(value, str) else write_json_text(value)
            yield f"{_disposition(name)}\r\n\r\n{text}".encode("utf-8", "replace")


def _file(name: str, upload: Upload) -> bytes:
    try:
        data = base64.b64decode(upload.base64, validate=False)
    except (binascii.Error, ValueError):
        raise RequestError("holds a file that is no base64", field="messages") from None
    media_type = upload.media_type if _MEDIA_TYPE.fullmatch(upload.media_type) else _BINARY
    named = f'{_disposition(name)}; filename="{_quoted(upload.name or "file")}"'
    head = f"{named}\r\nContent-Type: {media_type}\r\n\r\n"
    return head.encode("utf-8", "replace") + data


def _disposition(name: str) -> str:
    return f'Content-Disposition: form-data; name="{_quoted(name)}"'


def _quoted(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
