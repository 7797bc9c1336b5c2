"""Reuses the parsed headers of a request with a body, if only the length of the body differs later.

Clients that keep a connection send the same headers with every request, and the `Content-Length` of each
body. A request is read this way if it arrives in one read, and if its head equals an earlier one except
for the digits of that length. All other requests are parsed.

Source: RFC 9112, sections 2.1, 3 and 6.3 (the length of a message); see also `repeated_headers`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from streamweir_gateway.connection.repeated_headers import LONGEST, PLAIN_LINE, RepeatedRequest
from streamweir_gateway.remembered_headers import VARYING

__all__ = ["RepeatedLengths"]

_LENGTH: Final = b"content-length"
_LENGTH_LINE: Final = re.compile(rb"\r\ncontent-length: ([0-9]{1,9})\r\n", re.IGNORECASE)
_MOST_DIGITS: Final = 9
_OTHERS: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade"}) | (VARYING - {_LENGTH})
"""Headers of requests that end otherwise than by `Content-Length`, or whose headers differ each time."""

_END: Final = b"\r\n\r\n"


class RepeatedLengths(NamedTuple):
    """The headers of a request with a `Content-Length`.

    Attributes:
        before: the bytes from the end of the request line to the digits of the length.
        after: the bytes from the digits to the end of the head.
        headers: the headers, names in lower case.
        position: the index of `Content-Length` in `headers`.
        keep_alive: whether another request may follow.
    """

    before: bytes
    after: bytes
    headers: list[tuple[bytes, bytes]]
    position: int
    keep_alive: bool

    @classmethod
    def of(cls, data: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> Self | None:
        """Return the headers of a request for reuse; None if they cannot be reused.

        Args:
            data: the read with the beginning of the request.
            headers: the headers that the parser found in it.
            keep_alive: whether another request may follow.
        """
        line_end, end = data.find(b"\r\n"), data.find(_END)
        names = [name for name, _ in headers]
        if not 0 < line_end <= end <= LONGEST or names.count(_LENGTH) != 1 or not _OTHERS.isdisjoint(names):
            return None
        block = data[line_end : end + len(_END)]
        found = _LENGTH_LINE.search(block)
        # Each header has its own line, and the parser has seen the end of the head where it is seen here.
        is_plain = block.count(b"\n") == block.count(b"\r\n") == len(headers) + 2
        if found is None or not is_plain or PLAIN_LINE.fullmatch(data, 0, line_end) is None:
            return None
        start, stop = found.span(1)
        return cls(block[:start], block[stop:], [*headers], names.index(_LENGTH), keep_alive)

    def request(self, data: bytes) -> RepeatedRequest | None:
        """Return the request if `data` is one whole request with these headers; else None."""
        line_end, head_end = data.find(b"\r\n"), data.find(_END) + len(_END)
        start, stop = line_end + len(self.before), head_end - len(self.after)
        if (
            not data.startswith(self.before, line_end)
            or stop <= start
            or not data.startswith(self.after, stop)
        ):
            return None
        digits = data[start:stop]
        if not digits.isdigit() or len(digits) > _MOST_DIGITS or len(data) - head_end != int(digits):
            return None
        line = PLAIN_LINE.fullmatch(data, 0, line_end)
        if line is None:
            return None
        headers = [*self.headers]
        headers[self.position] = (_LENGTH, digits)
        return RepeatedRequest(line[1].decode("ascii"), line[2], headers, data[head_end:])
