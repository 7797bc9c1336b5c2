"""Caches results for the headers of a connection's requests, because most clients repeat their headers.

Most clients send equal headers with every request, except for a few headers that always differ. The results
of reading the equal headers are kept with the connection, and used for the next request.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from streamweir.http.headers import HeaderList

__all__ = ["VARYING", "HeaderMemory", "Memo", "RememberedHeaders", "memo_of"]

VARYING: Final = frozenset({b"content-length", b"x-request-id", b"traceparent", b"tracestate"})
"""Headers that differ between requests. A cached result must not depend on them."""

MOST_RESULTS: Final = 16
"""The most results that are cached for one connection."""


class Memo(dict[Hashable, Any]):
    """Caches results that depend only on their key, the connection, and the headers other than `VARYING`.

    A key is the object that computed the result, or a tuple of this object and more values. The memo is kept
    as long as the connection.
    """

    __slots__ = ()

    def put(self, key: Hashable, result: Any) -> None:
        """Cache a result. The number of results is bounded."""
        if len(self) >= MOST_RESULTS:
            self.clear()
        self[key] = result


class RememberedHeaders(list[tuple[bytes, bytes]]):
    """The headers of a request, names in lower case. The list must not be changed.

    Attributes:
        memo: the cached results for these headers.
        has_ids: whether one of them may name the request or its trace.
    """

    __slots__ = ("has_ids", "memo")

    def __init__(self, headers: HeaderList, memo: Memo, *, has_ids: bool = True) -> None:
        self.extend(headers)
        self.memo = memo
        self.has_ids = has_ids


class HeaderMemory:
    """Compares the headers of each request on a connection with those of the request before it.

    The headers of a first request are only noted, so a connection with a single request caches no results.
    """

    __slots__ = ("_constant", "_memo")

    def __init__(self) -> None:
        self._constant: list[tuple[bytes, bytes]] | None = None
        """The last request's headers other than `VARYING`; None before the first request."""
        self._memo: Memo | None = None
        """The results for `_constant`; None until a request repeats these headers."""

    def recalled(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return the headers of a request, with a memo if the previous request had equal headers."""
        constant = [header for header in headers if header[0] not in VARYING]
        if constant != self._constant:
            self._constant, self._memo = constant, None
            return headers
        if self._memo is None:
            self._memo = Memo()
        return RememberedHeaders(headers, self._memo)


def memo_of(headers: HeaderList) -> Memo | None:
    """Return the memo for the headers of a request; None if they differ from those of the last request."""
    return headers.memo if type(headers) is RememberedHeaders else None
