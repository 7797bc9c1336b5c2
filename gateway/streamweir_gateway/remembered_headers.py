"""The headers of a request that repeats those of the request before it on its connection.

Most clients send the same headers with every request, but for a few that differ in each. The results of
reading the others are remembered with the connection, and used for the next request.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from streamweir.http.headers import HeaderList

__all__ = ["VARYING", "HeaderMemory", "Memo", "RememberedHeaders", "memo_of"]

VARYING: Final = frozenset({b"content-length", b"x-request-id", b"traceparent", b"tracestate"})
"""Headers that differ between requests. No remembered result may depend on one of them."""

MOST_RESULTS: Final = 16
"""The most results that are remembered for one connection."""


class Memo:
    """Results that depend on nothing but their key and the headers of a request, `VARYING` left out.

    A key is the object that found the result, alone or with further values. It lives as long as the
    connection.
    """

    __slots__ = ("_results",)

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def get(self, key: Hashable) -> Any:
        """Return a result; None if there is none."""
        return self._results.get(key)

    def put(self, key: Hashable, result: Any) -> None:
        """Remember a result."""
        if len(self._results) >= MOST_RESULTS:
            self._results.clear()
        self._results[key] = result


class RememberedHeaders(list[tuple[bytes, bytes]]):
    """The headers of a request, names in lower case. They must not be changed.

    Attributes:
        memo: the results that are known for these headers.
    """

    __slots__ = ("memo",)

    def __init__(self, headers: HeaderList, memo: Memo) -> None:
        super().__init__(headers)
        self.memo = memo


class HeaderMemory:
    """Compares the headers of each request of a connection with those before it.

    The first request with some headers is only noted: a connection with one request keeps no results.
    """

    __slots__ = ("_constant", "_memo")

    def __init__(self) -> None:
        self._constant: list[tuple[bytes, bytes]] | None = None
        """The headers of the last request, other than `VARYING`; None before the first."""
        self._memo: Memo | None = None
        """The results for `_constant`; None until these headers come again."""

    def recalled(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return the headers of a request, with a memo if the request before it had the same."""
        constant = [header for header in headers if header[0] not in VARYING]
        if constant != self._constant:
            self._constant, self._memo = constant, None
            return headers
        if self._memo is None:
            self._memo = Memo()
        return RememberedHeaders(headers, self._memo)


def memo_of(headers: HeaderList) -> Memo | None:
    """Return the memo of the headers of a request; None if they are others than those of the last request."""
    return headers.memo if type(headers) is RememberedHeaders else None
