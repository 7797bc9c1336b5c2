"""The record of one request: filled in while the request runs, reported once when it ends."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.observability.causes import causes_of

__all__ = ["GAP_BOUNDS", "RequestRecord"]

GAP_BOUNDS: Final = (
    *(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)
"""Seconds: upper bounds of the buckets that gaps between events are counted in; a last one takes the rest."""


@dataclass(slots=True)
class RequestRecord:
    """One request. Absent is None (an empty list for `cause`) and is left out of the log line.

    The endpoint makes one at the beginning of a request, sets the fields below as they become known, calls
    `note_read` per upstream read that gave events and `add_cause` where something failed, and hands it to
    `Observer.ended` exactly once, whatever the outcome.
    """

    request_id: str
    method: str | None
    """None if the bytes are not a request."""
    endpoint: str | None
    """The template of the configuration; None where no endpoint takes the path."""
    upstream: str | None = None
    """The label of the upstream that was asked last."""
    speaks: str | None = None
    answers: str | None = None
    framing: str | None = None
    path: str | None = None
    """The path of the request, if no endpoint takes it."""
    key: str | None = None
    """The name of the client's key, never the key."""
    model: str | None = None
    """The name in `models` that was asked for: an alias its own; None where the endpoint has no models."""
    client: str | None = None
    """The client's address, where the request was refused."""
    trace_id: str | None = None
    span_id: str | None = None
    """The parent id that the upstream was given."""
    status: int | None = None
    """The HTTP status that was sent; None where none was."""
    upstream_status: int | None = None
    """The status of the attempt that counts, the last one."""
    attempts: int | None = None
    """Requests that went to upstreams: 1 where nothing was tried again, 0 where none was asked."""
    reason: str | None = None
    """The protocol's word for how the stream ended."""
    code: str | None = None
    """The code of the error or the refusal."""
    events: int | None = None
    """Sent to the client, or folded."""
    bytes_in: int | None = None
    """From the upstream, decoded."""
    bytes_out: int | None = None
    """Bytes of the body, to the client."""
    prompt_tokens: int | None = None
    """These three as the upstream has reported them. None if it has not, or for a further reader of a run."""
    completion_tokens: int | None = None
    total_tokens: int | None = None
    malformed: int | None = None
    """Upstream events that could not be read."""
    repairs: int | None = None
    """Tool calls whose start was made up, or whose end came twice."""
    unknown: int | None = None
    """Upstream events that no rule of the dialect knew."""
    lost: int | None = None
    """Events and fields that the client's protocol has no place for."""
    turns: dict[str, int] | None = None
    """How many turns of the conversation were restored, carried, lost or mended in the request."""
    keeps_turn: bool = field(default=False, repr=False)
    """The turn of the answer is in the store."""
    request_lost: list[str] | None = None
    """The names of fields of the client's request that the upstream cannot take."""
    first_event_ms: float | None = None
    """From the request's arrival to the first upstream event."""
    duration_ms: float | None = None
    """From the request's arrival to the end of its response; `Observer.ended` sets it."""
    websocket: bool | None = None
    """True: the request was a handshake."""
    close_code: int | None = None
    """The code of the upstream's Close frame, over a WebSocket."""
    hint: str | None = None
    """Advice about a stream that was not understood."""
    run: str | None = None
    """The beginning of the handle of the run, where it is kept."""
    resumes: str | None = None
    """The request id of the run that was read on in."""
    detached: str | None = None
    """Why the run was not kept to its end."""
    client_left: bool | None = None
    """The run went on without the client that it was started for."""
    cause: list[str] = field(default_factory=list)
    """The chain of exceptions behind a failure, the outermost first."""

    began: float = field(default_factory=time.monotonic, repr=False)
    """When the request arrived, by `time.monotonic`."""
    gaps: list[int] = field(default_factory=lambda: [0] * (len(GAP_BOUNDS) + 1), repr=False)
    """The number of gaps between events in each bucket of `GAP_BOUNDS`."""
    gap_seconds: float = field(default=0.0, repr=False)
    """The sum of all gaps."""
    longest_gap: float = field(default=0.0, repr=False)
    """The longest gap between events, in seconds."""
    is_open: bool = field(default=False, repr=False)
    """Whether it counts among the streams under way; `Observer.stream_opened` and `ended` set it."""
    _read_at: float | None = field(default=None, repr=False)

    def note_close(self, code: int) -> None:
        """Note the code of the upstream's Close frame."""
        self.close_code = code

    def attempt_began(self, upstream: str, request_lost: Sequence[str], turns: Mapping[str, int]) -> int:
        """Note that an upstream is asked, and forget the attempt before it; return the attempt's number.

        Args:
            upstream: its name in logs and metrics.
            request_lost: the names of fields of the client's request that it cannot take.
            turns: how many turns were restored, carried, lost or mended; those that are 0 are left out.
        """
        self.turns = {**turns} or None
        self.upstream = upstream
        self.upstream_status = self.close_code = None
        self.request_lost = [*request_lost] or None
        self.attempts = number = (self.attempts or 0) + 1
        return number

    def note_read(self, now: float) -> None:
        """One read from the upstream gave at least one event. Call it once per such read; it costs 0.2 us.

        Args:
            now: `time.monotonic()`.
        """
        last, self._read_at = self._read_at, now
        if last is None:
            self.first_event_ms = _milliseconds(now - self.began)
            return
        gap = now - last
        self.gaps[bisect_left(GAP_BOUNDS, gap)] += 1
        self.gap_seconds += gap
        self.longest_gap = max(self.longest_gap, gap)

    @property
    def reading_ms(self) -> tuple[float, float]:
        """To the last read that gave events: from the request's arrival, and from the first such read."""
        if self._read_at is None or self.first_event_ms is None:
            return 0.0, 0.0
        total = (self._read_at - self.began) * 1000
        return total, total - self.first_event_ms

    def add_cause(self, error: BaseException) -> None:
        """Keep the chain of exceptions behind a failure, credentials hidden; a later one replaces it."""
        self.cause = causes_of(error)

    def refused(self, code: str, client: object) -> None:
        """Note that the request was refused.

        Args:
            code: one of `REFUSALS`.
            client: its address; None where it has none.
        """
        self.status, self.code = REFUSALS[code].status, code
        self.client = None if client is None else str(client)

    def failed(self, error: Exception) -> None:
        """Note a fault of the gateway itself, which is answered and logged further out."""
        self.add_cause(error)
        self.code = "INTERNAL"
        self.status = self.status or REFUSALS["INTERNAL"].status

    def clock_out(self) -> None:
        """Settle the duration, unless that has been done."""
        if self.duration_ms is None:
            self.duration_ms = _milliseconds(time.monotonic() - self.began)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
