"""Makes the rows of the attempts of one request from the entries of its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.stream_log import NumberedEntry

__all__ = ["attempt_rows"]


def attempt_rows(
    entries: Iterable[NumberedEntry], began: float, first_event_ms: float | None
) -> list[AttemptRow]:
    """Return one row for each attempt in a log whose secrets are masked.

    Args:
        entries: the entries of the log from its beginning.
        began: the time at which the request arrived (`time.monotonic`).
        first_event_ms: the milliseconds from then to the first event; None before it.
    """
    rows: list[AttemptRow] = []
    for _, (kind, t, *rest) in entries:
        if kind == "begin":
            fields = rest[0]
            began_ms = round((t - began) * 1000, 3)
            rows.append(AttemptRow(attempt=fields["attempt"], upstream=fields["upstream"], began_ms=began_ms))
        elif rows and kind in ("request", "response", "attempt"):
            _note(rows[-1], kind, rest[0])
    if rows and rows[-1].ended is None:
        _note_first(rows[-1], first_event_ms)
    return rows


def _note(row: AttemptRow, kind: str, fields: dict[str, Any]) -> None:
    if kind == "attempt":
        row.ended, row.code = fields["ended"], fields.get("code")
        _note_first(row, fields["first_event_ms"])
    elif fields["side"] == "upstream" and kind == "request":
        row.url = fields["url"].partition("?")[0]
    elif fields["side"] == "upstream":
        row.status = fields["status"]


def _note_first(row: AttemptRow, first_event_ms: float | None) -> None:
    """Note the time of the first event, if it belongs to this attempt."""
    if first_event_ms is not None and first_event_ms >= row.began_ms:
        row.first_event_ms = first_event_ms
