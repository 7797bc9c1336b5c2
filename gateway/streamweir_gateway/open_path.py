"""The values of `{names}` and `/*` in an endpoint's path: none of them leads out of that path.

A server may read a path in more ways than one: decode it once more, take \\ for a slash, cut parameters off
a segment (`..;a`), accept a character that is coded longer than need be. What is a dot segment to any of them
may not go on, and neither may a control character: some servers end a line or a path at one.

Source: the configuration contract (`/*`, `relay`); RFC 3986, sections 3.3 and 5.2.4.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

__all__ = ["may_be_segment", "raw_rest"]

MAX_DECODINGS: Final = 4
"""No server decodes more often; a path that is coded more often is refused."""

_DOT_SEGMENT: Final = re.compile(rb"(?:^|[/\\])\.{1,2}[\x00-\x20]*(?:$|[/\\;?#])")
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]")
"""The control characters of Unicode, in UTF-8."""

_EMPTY_PIECE: Final = re.compile(rb"^/|//|/$")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_~-]+(?:\.[A-Za-z0-9_~-]+)*")
"""Most values of names: nothing to decode, no dot segment."""

_CODED: Final = re.compile(r"[%.\\]")
"""A path without these characters needs no decoding."""

_OVERLONG: Final = re.compile(
    rb"\xc0(?=[\x80-\xbf])|\xc1(?![\x20-\x7e])|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]|%u", re.IGNORECASE
)
"""Source: RFC 3629, section 3; `%u002e` is an invention of servers that are gone."""


def raw_rest(template: str, raw_path: str, rest: str) -> str | None:
    """Return the value of `/*`, percent-encoded as the client wrote it; None if it must not be sent on.

    Args:
        template: the template of the endpoint.
        raw_path: the request's path, not decoded.
        rest: the same as the return value, but decoded, as the template was found to match.
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
    """Return whether a value is allowed for a `{name}`: decoded any number of times, it stays in its segment.

    A coded slash stays a part of the value; between slashes there has to be something.

    Args:
        value: decoded once.
    """
    if _PLAIN.fullmatch(value):
        return True
    return _stays_below(value.encode("utf-8", "surrogatepass"), is_segment=True)


def _stays_below(path: bytes, *, is_segment: bool = False) -> bool:
    """Return whether `path` has neither dot segments nor control characters, however often it is decoded."""
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
