"""Selects the headers that are forwarded: headers that the configuration names in full or by a pattern.

A pattern is a name that ends in `*`: `X-Tenant-*`, or `*` for every name. A pattern never covers credentials,
headers about forwarding, headers of one connection or of the framing of the body, or headers that the gateway
writes itself. Such a header is forwarded only if the configuration names it in full.

Source: the configuration contract (headers by pattern).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .hop_by_hop import HOP_BY_HOP, connection_options
from .request import Headers

__all__ = ["HeaderSelection", "request_selection", "response_selection"]

_NEVER_IN_REQUESTS: Final = re.compile(
    rb"(?:proxy-)?authorization|cookie2?|(?:x-)?api-key|host|via|forwarded|x-forwarded-.*|x-real-ip"
    rb"|x-streamweir-.*|last-event-id|expect|content-length|accept|accept-encoding|x-request-id|traceparent"
    rb"|tracestate"
)
_BODY: Final = re.compile(rb"content-.*")
_NEVER_IN_RESPONSES: Final = re.compile(
    rb"set-cookie2?|server|x-powered-by|content-.*|cache-control|x-accel-buffering|vary|x-request-id|date"
    rb"|access-control-.*|x-streamweir-.*|x-content-type-options"
)


class HeaderSelection:
    """Selects headers by name.

    Args:
        names: the configured names; a name that ends in `*` is a pattern.
        never: names that no pattern covers, in addition to the headers of one connection.
        also: more names, in lower case, that no pattern covers.
    """

    def __init__(
        self, names: Iterable[str], *, never: Iterable[re.Pattern[bytes]], also: Iterable[str] = ()
    ) -> None:
        folded = [name.lower().encode("ascii") for name in names]
        self.named: Final = frozenset(name for name in folded if not name.endswith(b"*"))
        """The names that are given in full, in lower case."""
        self._prefixes = tuple({name[:-1] for name in folded if name.endswith(b"*")})
        self._never = tuple(never)
        self._also = frozenset(name.encode("ascii") for name in also)

    def __bool__(self) -> bool:
        return bool(self.named or self._prefixes)

    def of(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Return the selected headers of a message in their order, names in lower case.

        No pattern covers a header that the message lists in `Connection`, because that header belongs to one
        connection.
        """
        listed = connection_options(headers) if self._prefixes else frozenset()
        picked: Headers = []
        for name, value in headers:
            lowered = name.lower()
            if lowered in self.named or (self._covers(lowered) and lowered not in listed):
                picked.append((lowered, value))
        return picked

    def _covers(self, name: bytes) -> bool:
        """Return whether a pattern covers a name. In the excepted names an underscore counts as a hyphen."""
        if not self._prefixes or not name.startswith(self._prefixes) or name in self._also:
            return False
        plain = name.replace(b"_", b"-")
        return plain not in HOP_BY_HOP and not any(never.fullmatch(plain) for never in self._never)


def request_selection(names: Iterable[str], *, ours: Iterable[str], sends_body_on: bool) -> HeaderSelection:
    """Return the selection of the clients' headers that are forwarded to an upstream.

    Args:
        names: the configured `forward_headers`.
        ours: the headers, in lower case, that the configuration sets for this upstream.
        sends_body_on: whether the body is forwarded unchanged; if not, no pattern covers the headers that
            describe it (`Content-*`).
    """
    never = [_NEVER_IN_REQUESTS] if sends_body_on else [_NEVER_IN_REQUESTS, _BODY]
    return HeaderSelection(names, never=never, also=ours)


def response_selection(names: Iterable[str]) -> HeaderSelection:
    """Return the selection of the headers that clients get; `names` are `forward_response_headers`."""
    return HeaderSelection(names, never=[_NEVER_IN_RESPONSES])
