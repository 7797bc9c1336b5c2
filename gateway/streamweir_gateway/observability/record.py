"""The record of one request: filled in while the request runs, reported once when it ends."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.observability.causes import causes_of

__all__ = ["GAP_BOUNDS", "RequestRecord", "milliseconds"]

GAP_BOUNDS: Final = (
    *(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)
"""The upper bounds, in seconds, of the buckets that count gaps between events. The last has no bound."""


class RequestRecord(Struct):
    """The facts about one request.

    An unknown fact is None (for `cause` an empty sequence), and is left out of the log line. The facts from
    `path` to `cause` are None or 0 for most requests; those before them are known then.

    The endpoint makes a record at the beginning of a request and sets the fields when they become known. It
    calls `note_read` for each upstream read that gave events, and `add_cause` for each failure. It passes the
    record to `Observer.ended` exactly once, after success or failure.
    """

    request_id: str
    method: str | None
    """The method of the request; None if the bytes are not a request."""
    endpoint: str | None
    """The template of the endpoint in the configuration; None if the path belongs to no endpoint."""
    upstream: str | None = None
    """The label of the upstream that was asked last."""
    speaks: str | None = None
    answers: str | None = None
    framing: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    """The parent id that was sent to the upstream."""
    status: int | None = None
    """The HTTP status that was sent; None if no status was sent."""
    upstream_status: int | None = None
    """The upstream's status in the last attempt."""
    attempts: int | None = None
    """The number of requests to upstreams: 1 without retries, 0 if no upstream was asked."""
    reason: str | None = None
    """The protocol's word for the way in which the stream ended."""
    events: int | None = None
    """The number of events that were sent to the client, or folded."""
    bytes_in: int | None = None
    """The decoded bytes from the upstream."""
    bytes_out: int | None = None
    """The bytes of the body that were sent to the client."""
    first_event_ms: float | None = None
    """The milliseconds from the request's arrival to the first upstream event."""
    duration_ms: float | None = None
    """The milliseconds from the request's arrival to the end of its response; `Observer.ended` sets it."""

    path: str | None = None
    """The path of the request, if it belongs to no endpoint."""
    key: str | None = None
    """The name of the client's key. The key itself is never recorded."""
    model: str | None = None
    """The requested name of `models`; an alias stays an alias. None if the endpoint has no models."""
    client: str | None = None
    """The client's address, if the request was refused."""
    code: str | None = None
    """The code of the error or the refusal."""
    prompt_tokens: int | None = None
    """The prompt tokens that the upstream has reported.

    Like the next two, None if it reported no number, or for a second reader of a run.
    """
    completion_tokens: int | None = None
    total_tokens: int | None = None
    malformed: int | None = None
    """The number of upstream events that could not be read."""
    repairs: int | None = None
    """The number of tool calls whose start was missing and was added, or whose end came twice."""
    unknown: int | None = None
    """The number of upstream events that no rule of the dialect matched."""
    lost: int | None = None
    """The number of events and fields that the client's protocol cannot express."""
    turns: dict[str, int] | None = None
    """The numbers of turns of the conversation that were restored, carried, lost or mended in the request."""
    request_lost: list[str] | None = None
    """The names of fields of the client's request that the upstream cannot take."""
    websocket: bool | None = None
    """True if the request was a WebSocket handshake."""
    close_code: int | None = None
    """The code of the upstream's Close frame, if the upstream speaks over a WebSocket."""
    hint: str | None = None
    """Advice about a stream that was not understood."""
    run: str | None = None
    """The beginning of the handle of the run, if the run is stored."""
    resumes: str | None = None
    """The request id of the run that the client resumed."""
    detached: str | None = None
    """The reason why the run was not stored to its end."""
    client_left: bool | None = None
    """Whether the run went on after the client that started it had left."""
    cause: Sequence[str] = ()
    """The chain of exceptions behind a failure, the outermost first."""

    keeps_turn: bool = False
    """Whether the turn of the answer is in the store."""
    run_endpoint: str | None = None
    """The endpoint of the stored run that the client reads."""
    reads_whole: bool = False
    """Whether the answer is the whole result of a stored run or of a kept response, which has ended."""
    began: float = field(default_factory=time.monotonic)
    """The time at which the request arrived, by `time.monotonic()`."""
    gaps: list[int] | None = None
    """The number of gaps between events in each bucket of `GAP_BOUNDS`; None before the first gap."""
    gap_seconds: float = 0.0
    """The sum of all gaps."""
    longest_gap: float = 0.0
    """The longest gap between two events, in seconds."""
    is_open: bool = False
    """Whether the stream counts as under way; `Observer.stream_opened` and `ended` set it."""
    _read_at: float | None = None

    def note_close(self, code: int) -> None:
        """Note the code of the upstream's Close frame."""
        self.close_code = code

    def attempt_began(self, upstream: str, request_lost: Sequence[str], turns: Mapping[str, int]) -> int:
        """Note that an upstream is asked, forget the previous attempt, and return the attempt's number.

        Args:
            upstream: the label of the upstream in logs and metrics.
            request_lost: the names of fields of the client's request that the upstream cannot take.
            turns: the numbers of turns that were restored, carried, lost or mended; those of 0 are left out.
        """
        if self.attempts:
            self.turns = self.upstream_status = self.close_code = self.bytes_in = self.request_lost = None
            self.cause = ()
        if turns:
            self.turns = {**turns}
        if request_lost:
            self.request_lost = [*request_lost]
        self.upstream = upstream
        self.attempts = number = (self.attempts or 0) + 1
        return number

    def note_read(self, now: float) -> None:
        """Note a read from the upstream that gave at least one event.

        Call this once per such read; it costs 0.2 us.

        Args:
            now: `time.monotonic()`.
        """
        last, self._read_at = self._read_at, now
        if last is None:
            self.first_event_ms = milliseconds(now - self.began)
            return
        gap = now - last
        if self.gaps is None:
            self.gaps = [0] * (len(GAP_BOUNDS) + 1)
        self.gaps[bisect_left(GAP_BOUNDS, gap)] += 1
        self.gap_seconds += gap
        self.longest_gap = max(self.longest_gap, gap)

    def reading_ms(self) -> tuple[float, float]:
        """Return the ms to the last read with events: from the arrival of the request, and from the first."""
        if self._read_at is None or self.first_event_ms is None:
            return 0.0, 0.0
        total = (self._read_at - self.began) * 1000
        return total, total - self.first_event_ms

    def add_cause(self, error: BaseException) -> None:
        """Record the chain of exceptions behind a failure, without credentials. A later chain replaces it."""
        self.cause = causes_of(error)

    def refused(self, code: str, client: object) -> None:
        """Note that the request was refused.

        Args:
            code: one of `REFUSALS`.
            client: the client's address; None if it has no address.
        """
        self.status, self.code = REFUSALS[code].status, code
        self.client = None if client is None else str(client)

    def failed(self, error: Exception) -> None:
        """Note a fault of the gateway itself. Outer layers answer and log it."""
        self.add_cause(error)
        self.code = "INTERNAL"
        self.status = self.status or REFUSALS["INTERNAL"].status

    def clock_out(self) -> None:
        """Set the duration, unless it has been set."""
        if self.duration_ms is None:
            self.duration_ms = milliseconds(time.monotonic() - self.began)


def milliseconds(seconds: float) -> float:
    """Return the milliseconds, with three decimals."""
    return round(seconds * 1_000_000) / 1000
