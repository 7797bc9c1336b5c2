"""Reuses the written headers of a response, if later responses differ in their request id alone.

Responses of one kind have the same headers: they are checked and written once. Headers that frame a message,
or that concern its connection, are looked at in each response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

__all__ = ["RepeatedLines"]

Pairs: TypeAlias = list[tuple[bytes, bytes]]
"""The headers of a response."""

REQUEST_ID: Final = b"x-request-id"
MOST_KINDS: Final = 64
"""The most kinds of responses that are remembered."""

LONGEST: Final = 2048
"""The most bytes of lines that are remembered."""

_PLAIN_ID: Final = re.compile(rb"[A-Za-z0-9._:-]+")
_LOOKED_AT: Final = frozenset({b"connection", b"content-length", b"date", b"transfer-encoding"})


class RepeatedLines:
    """The lines of headers before and after the request id, by the headers and the place of the id."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def of(self, pairs: Pairs, fields: Mapping[bytes, bytes]) -> bytes | None:
        """Return the lines of the headers; None if they have to be checked and written.

        Args:
            pairs: the headers.
            fields: the same headers by name.
        """
        request_id = fields.get(REQUEST_ID)
        if request_id is None or _PLAIN_ID.fullmatch(request_id) is None:
            return None
        at = pairs.index((REQUEST_ID, request_id))
        known = self._known.get((at, *pairs[:at], *pairs[at + 1 :]))
        return None if known is None else known[0] + request_id + known[1]

    def note(self, pairs: Pairs, fields: Mapping[bytes, bytes], lines: bytes) -> None:
        """Remember the lines of valid headers, whose names are in lower case."""
        request_id = fields.get(REQUEST_ID)
        if request_id is None or len(lines) > LONGEST or not _LOOKED_AT.isdisjoint(fields):
            return
        at = pairs.index((REQUEST_ID, request_id))
        before = sum(len(name) + len(value) + 4 for name, value in pairs[:at]) + len(REQUEST_ID) + 2
        if len(self._known) >= MOST_KINDS:
            self._known.clear()
        key = (at, *pairs[:at], *pairs[at + 1 :])
        self._known[key] = lines[:before], lines[before + len(request_id) :]
