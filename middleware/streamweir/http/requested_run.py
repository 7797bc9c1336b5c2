"""What a request says of a run: its handle, and how far its client has read it.

Source: the contract of resumable streams, sections 2 and 3.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote_plus

from streamweir.http.headers import header_values
from streamweir.http.refusals import Refusal
from streamweir.http.sending import Scope
from streamweir.runs.handles import Position, is_handle, read_event_id
from streamweir.runs.run_index import KINDS
from streamweir.runs.store import RunState

__all__ = [
    "RUN_HEADER",
    "brought_handle",
    "check_position",
    "has_all",
    "named_run",
    "position_of",
    "requested_ids",
    "without_handle",
]

RUN_HEADER: Final = b"x-streamweir-run"
_AFTER: Final = re.compile(r"-1|0|[1-9][0-9]{0,17}")


def brought_handle(scope: Scope) -> str | None:
    """Return the handle that a request brings along, if it does.

    Raises:
        Refusal: its header holds something else, or two of them.
    """
    values = header_values(scope["headers"], RUN_HEADER)
    if len(values) > 1 or (values and not is_handle(values[0])):
        raise Refusal("BAD_REQUEST", "X-Streamweir-Run: must be run_ and 32 lower-case hex digits, once.")
    if values:
        return values[0]
    named = [value for value in _query(scope, "run") if is_handle(value)]
    return named[0] if len(named) == 1 else None  # another form is the application's own


def position_of(scope: Scope) -> Position | None:
    """Return how far the client of a request is; None if it does not say.

    Raises:
        Refusal: what it says is no position.
    """
    given = header_values(scope["headers"], b"last-event-id")
    if given:
        position = read_event_id(given[0])
        if position is None or len(given) > 1:
            raise Refusal("BAD_REQUEST", "Last-Event-ID: must be the id of an event of this run.")
        return position
    after = _query(scope, "after")
    if not after:
        return None
    if len(after) > 1 or _AFTER.fullmatch(after[0]) is None:
        raise Refusal("BAD_REQUEST", "after: must be the number of an event, or -1.")
    return Position(None, int(after[0]))


def named_run(scope: Scope) -> tuple[str | None, Position | None]:
    """Return the run that a client wants to read on in, and where; an EventSource's own ids name none."""
    brought = brought_handle(scope)
    try:
        position = position_of(scope)
    except Refusal:
        if brought is not None:
            raise
        return None, None
    if position is None:
        return None, None
    if brought is not None and position.run not in (None, brought):
        raise Refusal("BAD_REQUEST", "Last-Event-ID: names another run.")
    return position.run or brought, position


def check_position(position: Position | None, handle: str, state: RunState) -> None:
    """Check that a client is somewhere in a run.

    Raises:
        Refusal: the position is not one of this run.
    """
    if position is None:
        return
    if position.run not in (None, handle):
        raise Refusal("BAD_REQUEST", "Last-Event-ID: names another run.")
    if position.event >= state.events:
        raise Refusal("RUN_GONE")


def has_all(position: Position | None, state: RunState) -> bool:
    """Return whether a client has all of a run that has ended."""
    if position is None:
        return False
    return state.state == "ended" and position.event == state.events - 1 and position.frames is None


def without_handle(scope: Scope) -> Scope:
    """Return a request as it goes on: its handle is between the client and us."""
    pieces = scope["query_string"].split(b"&")
    query = b"&".join(piece for piece in pieces if not _names_run(piece))
    headers = [pair for pair in scope["headers"] if pair[0].lower() != RUN_HEADER]
    return {**scope, "query_string": query, "headers": headers}


def _names_run(piece: bytes) -> bool:
    name, _, value = piece.decode("latin-1").partition("=")
    return unquote_plus(name) == "run" and is_handle(unquote_plus(value))


def requested_ids(scope: Scope) -> tuple[str, str]:
    """Return by what runs are to be found: one of `KINDS`, and its value.

    Raises:
        Refusal: the query names none of them, or several.
    """
    asked = [(kind, value) for kind in KINDS for value in _query(scope, kind) if value]
    if len(asked) != 1:
        raise Refusal("BAD_REQUEST", f"Name one of: {', '.join(KINDS)}.")
    return asked[0]


def _query(scope: Scope, name: str) -> list[str]:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
    return [value for key, value in pairs if key == name]
