"""Refuses requests that the parser accepts but a gateway must not accept.

The parser itself refuses conflicting lengths, folded lines, control characters and other invalid HTTP.

Source: RFC 9112, sections 2.3, 3.2 and 6.1; RFC 9110, section 9.3.6 (CONNECT opens a tunnel to any host).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["is_acceptable"]

_VERSIONS: Final = frozenset({"1.0", "1.1"})


def is_acceptable(method: bytes, target: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request with this request line and these headers may be served.

    Args:
        method: the method.
        target: the target, in origin form.
        version: the HTTP version, such as `1.1`.
        headers: the headers, names in lower case.
    """
    if version not in _VERSIONS or method == b"CONNECT" or not target.startswith(b"/"):
        return False
    if not target.isascii():
        return False
    hosts = codings = 0
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            codings += 1
            if value.strip().lower() != b"chunked":
                return False
    if version == "1.0":
        return hosts <= 1 and codings == 0
    return hosts == 1 and codings <= 1
