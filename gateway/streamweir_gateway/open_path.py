"""Checks that the values of `{names}` and `/*` in an endpoint's path do not lead out of that path.

Servers read paths in different ways: they decode a path once more, take \\ for a slash, cut parameters off a
segment (`..;a`), or accept overlong encodings of characters. A value that any such server would read as a dot
segment is refused. Control characters are refused too, because some servers end a line or a path at them.

Source: the configuration contract (`/*`, `relay`); RFC 3986, sections 3.3 and 5.2.4.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

__all__ = ["may_be_segment", "raw_rest"]

MAX_DECODINGS: Final = 4
"""The most times that a path may be encoded. No server decodes more often."""

_DOT_SEGMENT: Final = re.compile(rb"(?:^|[/\\])\.{1,2}[\x00-\x20]*(?:$|[/\\;?#])")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]")
"""The control characters of Unicode, in UTF-8."""

_EMPTY_PIECE: Final = re.compile(rb"^/|//|/$")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_~-]+(?:\.[A-Za-z0-9_~-]+)*")
"""Matches most values of names, which contain no encoding and no dot segment."""

_CODED: Final = re.compile(r"[%.\\]")
"""The characters that make decoding necessary. A path without them needs no decoding."""

_OVERLONG: Final = re.compile(
    rb"\xc0(?=[\x80-\xbf])|\xc1(?![\x20-\x7e])|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]|%u", re.IGNORECASE
)
"""Matches overlong encodings. Source: RFC 3629, section 3; `%u002e` was an invention of old servers."""


def raw_rest(template: str, raw_path: str, rest: str) -> str | None:
    """Return the value of `/*`, percent-encoded as the client wrote it; None if it must not be forwarded.

    Args:
        template: the template of the endpoint.
        raw_path: the request's path, not decoded.
        rest: the decoded value of `/*`, as the template has matched it.
    """
    if raw_path.endswith(rest) and not _CODED.search(raw_path):
        return None if _CONTROL.search(rest.encode("latin-1", "replace")) else rest
    slashes = template.count("/")
    segments = raw_path.split("/", slashes)
    if len(segments) <= slashes:
        return None
    raw = segments[slashes]
    if "%" not in raw and "." not in raw and "\\" not in raw:
        return raw if raw == rest and not _CONTROL.search(raw.encode("latin-1", "replace")) else None
    return raw if unquote(raw) == rest and _stays_below(raw.encode("latin-1", "replace")) else None


def may_be_segment(value: str) -> bool:
    """Return whether a value is allowed for a `{name}`: it stays in its segment, however often it is decoded.

    An encoded slash is a part of the value; between two slashes there has to be a character.

    Args:
        value: the value, decoded once.
    """
    if _PLAIN.fullmatch(value):
        return True
    return _stays_below(value.encode("utf-8", "surrogatepass"), is_segment=True)


def _stays_below(path: bytes, *, is_segment: bool = False) -> bool:
    """Return whether `path` has no dot segments or control characters, however often it is decoded."""
    for _ in range(MAX_DECODINGS):
        if _DOT_SEGMENT.search(path) or _OVERLONG.search(path) or _CONTROL.search(path):
            return False
        if is_segment and (b"\\" in path or _EMPTY_PIECE.search(path)):
            return False
        if b"%" not in path:
            return True
        decoded = unquote_to_bytes(path)
        if decoded == path:
            return True
        path = decoded
    return False
