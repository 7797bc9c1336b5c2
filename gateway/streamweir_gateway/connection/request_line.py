"""Rewrites valid request lines that llhttp refuses.

llhttp accepts a fixed list of methods, while HTTP allows any method. llhttp also refuses bytes outside of
ASCII, which old clients send in targets.

Source: RFC 9110, section 9.1 (methods); RFC 9112, section 3.2.2 (absolute form); RFC 3986, section 2.1.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from streamweir.http_grammar import TOKEN

__all__ = ["ParsableRequest", "is_whole_line", "origin_form", "parsable"]

_USUAL: Final = frozenset(
    {b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE"}
)
_STAND_IN: Final = b"POST"
"""The known method that replaces an unknown one. The headers decide whether there is a body."""

_LINE: Final = re.compile(rb"(%b) ([^ \r\n]+)( HTTP/1\.[01]\r?\n)" % TOKEN.pattern.encode())
_BEGINNING: Final = re.compile(rb"[\r\n]*(?:%b(?: |$)|$)" % TOKEN.pattern.encode())
_NO_ASCII: Final = re.compile(rb"[\x80-\xff]")
_ABSOLUTE: Final = re.compile(rb"https?://([0-9A-Za-z.\-_\[\]:]{1,255})((?:[/?].*)?)", re.IGNORECASE)


class ParsableRequest(NamedTuple):
    """The beginning of a request in the form in which llhttp gets it."""

    data: bytes
    method: bytes | None
    """The real method of the request; None if the method was not replaced."""


def is_whole_line(data: bytes) -> bool:
    """Return whether the request line is complete, or is already invalid."""
    return data.find(b"\n") > 1 or b"\n" in data.lstrip(b"\r\n") or not _BEGINNING.match(data)


def parsable(data: bytes) -> ParsableRequest:
    """Return the beginning of a request with a request line that llhttp accepts.

    Bytes outside of ASCII are percent-encoded in the target. Invalid request lines stay unchanged.
    """
    line = data[: data.find(b"\n") + 1]
    method = line[: line.find(b" ")]
    if method in _USUAL and line.isascii():
        return ParsableRequest(data, None)
    data = data.lstrip(b"\r\n")
    found = _LINE.match(data)
    if found is None:
        return ParsableRequest(data, None)
    method, target, version = found.groups()
    target = _NO_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), target)
    is_usual = method in _USUAL
    written = b"%b %b%b" % (method if is_usual else _STAND_IN, target, version)
    return ParsableRequest(written + data[found.end() :], None if is_usual else method)


def origin_form(target: bytes) -> tuple[bytes, bytes] | None:
    """Return the host, and the path with query, of an absolute target; None for any other target."""
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return None
    host, rest = found.groups()
    return host, rest if rest.startswith(b"/") else b"/" + rest
