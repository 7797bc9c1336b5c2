"""The filter that a viewer sends: it selects rows, and a page of the selected rows.

Source: the console contract, section 1 (`streams`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from streamweir_gateway.console.row import STATES, Row

__all__ = ["MAX_ROWS", "RowFilter", "RowPage", "whole_number"]

USUAL_ROWS: Final = 100
_MOST_DIGITS: Final = 15
MAX_ROWS: Final = 2000
_EARLIEST_MS: Final = 100_000_000_000
"""The lowest `before` that is read as a time; a lower one is the number of a change."""
_SEARCHED: Final = (
    *("id", "request_id", "trace_id", "thread_id", "session_id"),
    *("endpoint", "upstream", "reason", "code"),
)


def whole_number(name: str, text: str) -> int:
    """Return the whole number that a query parameter has as its value.

    Raises:
        ValueError: the text has other characters than digits, or too many; the message is for users.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise ValueError(f"{name} must be a whole number.")
    return int(text)


class RowPage(NamedTuple):
    """A page of rows.

    Attributes:
        rows: the rows of the page, the newest first.
        total: the number of rows on all pages.
    """

    rows: list[Row]
    total: int


class RowFilter(NamedTuple):
    """The conditions that rows have to meet. An empty text is no condition.

    Attributes:
        text: has to occur in an id, the endpoint, the upstream, the reason or the code; case does not matter.
        before: the id of a row, the number of its last change, or Unix milliseconds: only older rows match.
        limit: the most rows of a page.
    """

    state: str = ""
    endpoint: str = ""
    reason: str = ""
    text: str = ""
    before: str = ""
    limit: int = USUAL_ROWS

    @classmethod
    def of(cls, query: Mapping[str, str]) -> RowFilter:
        """Return the filter that the parameters of a query describe.

        Raises:
            ValueError: a parameter has an invalid value; the message is for users.
        """
        limit = whole_number("limit", query.get("limit") or str(USUAL_ROWS))
        state = query.get("state", "")
        if state and state not in STATES:
            raise ValueError(f"state must be one of {', '.join(STATES)}.")
        return cls(
            state,
            query.get("endpoint", ""),
            query.get("reason", ""),
            query.get("q", "").lower(),
            query.get("before", ""),
            min(limit, MAX_ROWS),
        )

    def page(self, rows: Iterable[Row]) -> RowPage:
        """Return the page of those rows that match; `rows` are ordered, the newest first."""
        every = [*rows]
        older = filter(self.takes, self._older(every))
        return RowPage([*islice(older, self.limit)], sum(map(self.takes, every)))

    def takes(self, row: Row) -> bool:
        """Return whether a row meets all conditions but `before`."""
        if self.state and row.state != self.state:
            return False
        if self.endpoint and row.endpoint != self.endpoint:
            return False
        if self.reason and self.reason not in (row.reason, row.code):
            return False
        return not self.text or any(
            self.text in text.lower() for name in _SEARCHED if (text := getattr(row, name)) is not None
        )

    def _older(self, rows: list[Row]) -> Iterator[Row]:
        if not self.before:
            yield from rows
            return
        place = next((place for place, row in enumerate(rows) if self._names(row)), None)
        if place is not None:
            yield from rows[place + 1 :]
        elif self.before.isdecimal() and len(self.before) <= _MOST_DIGITS:
            limit = int(self.before)
            yield from (row for row in rows if (row.began if limit > _EARLIEST_MS else row.seq) < limit)

    def _names(self, row: Row) -> bool:
        return self.before in (row.id, str(row.seq))
