"""A row of the console: the facts about one request.

Source: the console contract, section 1 (a row).
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import asdict

__all__ = [
    "FINAL_STATES",
    "STATES",
    "AttemptRow",
    "CaptureKind",
    "PackedRow",
    "PlottedRow",
    "Row",
    "State",
    "as_object",
    "row_of",
]

State: TypeAlias = Literal["waiting", "streaming", "detached", "ended", "refused"]
CaptureKind: TypeAlias = Literal["none", "metadata", "content"]

STATES: Final[tuple[str, ...]] = get_args(State)
FINAL_STATES = frozenset({"ended", "refused"})
"""States in which a row remains."""


class PlottedRow(msgspec.Struct, array_like=True):
    """The facts that the plots need of a request that has ended: the beginning of a `PackedRow`.

    Attributes:
        began: the arrival of the request in Unix milliseconds.
    """

    began: int
    endpoint: str | None = None
    first_event_ms: float | None = None
    max_gap_ms: float | None = None
    duration_ms: float | None = None
    reason: str | None = None


class PackedRow(PlottedRow, array_like=True):
    """The facts about one request, as a serving process sends them. A fact that is unknown is None.

    Attributes:
        id: unique among all rows, never empty; request ids may repeat.
        state: `waiting`: no event yet; `detached`: the client left and the run goes on; `refused`: the
            request never became a stream.
    """

    id: str = ""
    state: State = "ended"
    attempts: int | None = None
    request_id: str = ""
    trace_id: str | None = None
    upstream: str | None = None
    key: str | None = None
    events: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None
    lost: int | None = None
    code: str | None = None
    status: int | None = None
    speaks: str | None = None
    answers: str | None = None
    framing: str | None = None
    hint: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    warnings: int | None = None
    repairs: int | None = None
    malformed: int | None = None
    capture: CaptureKind = "none"


class Row(PackedRow, kw_only=True, array_like=False):
    """A row of the console.

    Attributes:
        seq: the number of this row's last change; the console counts the changes of all rows and sets it.
        worker: the number of the serving process, from 1.
    """

    seq: int = 0
    worker: int


def row_of(packed: PackedRow, worker: int) -> Row:
    """Return the row with the facts that a serving process has sent."""
    return Row(worker=worker, **asdict(packed))


class AttemptRow(msgspec.Struct, kw_only=True):
    """One attempt at an upstream.

    Attributes:
        ended: how the attempt ended, as in a capture file: `eof`, `broken`, `left` or `refused`; None before.
        status: the status of the upstream's response.
        began_ms: milliseconds since the request arrived, as in the fields after it.
    """

    attempt: int
    upstream: str
    url: str | None = None
    ended: str | None = None
    code: str | None = None
    status: int | None = None
    began_ms: float
    first_event_ms: float | None = None


def as_object(row: Row | AttemptRow) -> dict[str, Any]:
    """Return a row as a JSON object."""
    found: dict[str, Any] = msgspec.to_builtins(row)
    return found
