"""Reuses the parsed headers of a request with a body, if only the length of the body differs later.

Clients that keep a connection send the same headers with every request, and the `Content-Length` of each
body. A request is read this way if it arrives in one read, and if its head equals an earlier one except
for the digits of that length. All other requests are parsed.

Source: RFC 9112, sections 2.1, 3 and 6.3 (the length of a message); see also `repeated_headers`.
"""

from __future__ import annotations

import re
from typing import Final, Self

from streamweir_gateway.connection.repeated_headers import LONGEST, PLAIN_LINE, RepeatedRequest
from streamweir_gateway.remembered_headers import VARYING, Memo, RememberedHeaders, memo_of

__all__ = ["RepeatedLengths"]

_LENGTH: Final = b"content-length"
_LENGTH_LINE: Final = re.compile(rb"\r\ncontent-length: ([0-9]{1,9})\r\n", re.IGNORECASE)
_MOST_DIGITS: Final = 9
_OTHERS: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade"}) | (VARYING - {_LENGTH})
"""Headers of requests that end otherwise than by `Content-Length`, or whose headers differ each time."""

_END: Final = b"\r\n\r\n"


class RepeatedLengths:
    """The headers of a request with a `Content-Length`, and the request line of the last request with them.

    Attributes:
        keep_alive: whether another request may follow.

    Args:
        before: the bytes from the end of the request line to the digits of the length.
        after: the bytes from the digits to the end of the head.
        headers: the headers, names in lower case.
        position: the index of `Content-Length` in `headers`.
        memo: the results for these headers.
    """

    __slots__ = (
        "_after",
        "_before",
        "_headers",
        "_line",
        "_memo",
        "_method",
        "_position",
        "_target",
        "keep_alive",
    )

    def __init__(
        self,
        before: bytes,
        after: bytes,
        headers: list[tuple[bytes, bytes]],
        position: int,
        memo: Memo,
        *,
        keep_alive: bool,
    ) -> None:
        self.keep_alive = keep_alive
        self._before = before
        self._after = after
        self._headers = headers
        self._position = position
        self._memo = memo
        self._line = b""  # the request line and `before`
        self._method = ""
        self._target = b""

    @classmethod
    def of(cls, data: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> Self | None:
        """Return the headers of a request for reuse; None if they cannot be reused.

        Args:
            data: the read with the beginning of the request.
            headers: the headers that the parser found in it.
            keep_alive: whether another request may follow.
        """
        line_end, end, memo = data.find(b"\r\n"), data.find(_END), memo_of(headers)
        names = [name for name, _ in headers]
        if not 0 < line_end <= end <= LONGEST or names.count(_LENGTH) != 1 or not _OTHERS.isdisjoint(names):
            return None
        block = data[line_end : end + len(_END)]
        found = _LENGTH_LINE.search(block)
        # Each header has its own line, and the parser has seen the end of the head where it is seen here.
        is_plain = block.count(b"\n") == block.count(b"\r\n") == len(headers) + 2
        if memo is None or found is None or not is_plain or PLAIN_LINE.fullmatch(data, 0, line_end) is None:
            return None
        start, stop = found.span(1)
        position = names.index(_LENGTH)
        return cls(block[:start], block[stop:], [*headers], position, memo, keep_alive=keep_alive)

    def request(self, data: bytes) -> RepeatedRequest | None:
        """Return the request if `data` is one whole request with these headers; else None."""
        beginning, after, body = data.partition(self._after)
        digits = beginning.removeprefix(self._line)
        if not digits.isdigit() and self._takes_line(beginning):
            digits = beginning.removeprefix(self._line)
        is_length = digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) == len(body)
        if not after or not is_length:
            return None
        headers = RememberedHeaders(self._headers, self._memo, has_ids=False)
        headers[self._position] = (_LENGTH, digits)
        return self._method, self._target, headers, body

    def _takes_line(self, data: bytes) -> bool:
        """Remember the request line of `data`; return False if it cannot be reused."""
        line_end = data.find(b"\r\n")
        if not data.startswith(self._before, line_end) or line_end > LONGEST:
            return False
        line = PLAIN_LINE.fullmatch(data, 0, line_end)
        if line is None:
            return False
        self._line = data[: line_end + len(self._before)]
        self._method, self._target = line[1].decode("ascii"), line[2]
        return True
