"""Reports each request that ended: as a line of the log, and in the metrics.

No method raises an exception into the request that is reported.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final, Protocol

from msgspec.structs import astuple

from streamweir.redaction import hide_credentials
from streamweir.runs.handles import with_short_handles
from streamweir_gateway.observability.event_lines import BreakerLines
from streamweir_gateway.observability.metrics import BreakerState, Metrics
from streamweir_gateway.observability.record import RequestRecord, milliseconds
from streamweir_gateway.observability.secrets import Secrets
from streamweir_gateway.observability.watcher import RequestWatcher

__all__ = ["Observer", "RequestLog", "shown_hint"]

logger = logging.getLogger("streamweir.gateway")

_FIELDS: Final = (
    *("request_id", "trace_id", "span_id", "method", "endpoint", "path", "key", "model", "client"),
    *("upstream", "speaks", "answers", "framing", "websocket"),
    *("status", "upstream_status", "attempts", "reason", "code", "close_code"),
    *("events", "bytes_in", "bytes_out", "prompt_tokens", "completion_tokens", "total_tokens"),
    *("malformed", "unknown", "repairs", "lost", "request_lost", "turns"),
    *("run", "resumes", "detached", "client_left"),
    *("first_event_ms", "duration_ms", "hint"),
)
"""The fields of the line, in their order; `cause` comes after them."""

_VALUES: Final = attrgetter(*_FIELDS)

_OMITTED_AT_ZERO: Final = frozenset({"malformed", "unknown", "repairs", "lost"})
"""Counts that are left out of the line if they are 0."""

_USUAL: Final = slice(0, RequestRecord.__struct_fields__.index("path"))
_RARE: Final = slice(_USUAL.stop, RequestRecord.__struct_fields__.index("cause") + 1)
_NOTHING_RARE: Final = astuple(RequestRecord("", None, None, malformed=0, unknown=0, repairs=0, lost=0))[
    _RARE
]
"""The values of the fields that most lines do not have, in a record with a line of the usual fields only."""

_PATH_CHARACTERS: Final = 256
_SEARCHED_CHARACTERS: Final = 4 * _PATH_CHARACTERS
"""The characters of a path that are searched for credentials, so that none is cut where the path is."""
_HINT_CHARACTERS: Final = 600


class RequestLog(Protocol):
    """Takes the log lines of requests."""

    def info(self, event: str, /, **fields: Any) -> Any:
        """Write the event of a request that went well."""

    def warning(self, event: str, /, **fields: Any) -> Any:
        """Write the event of a request that did not go well."""


class Observer:
    """Gets the events of requests, streams and upstreams. Every method is cheap and never raises.

    Args:
        log: gets the line of each request.
        metrics: counts requests.
        endpoints: the templates whose metrics are shown as 0 from the beginning.
        secrets: texts that are removed from lines, in any form: keys and credentials of the configuration.
        watcher: gets each record that is reported; None: there is no console.
    """

    def __init__(
        self,
        log: RequestLog,
        metrics: Metrics,
        *,
        endpoints: Iterable[str] = (),
        secrets: Iterable[str] = (),
        watcher: RequestWatcher | None = None,
    ) -> None:
        self.metrics = metrics
        self._watcher = watcher
        self._log = log
        self._secrets = Secrets(secrets)
        self._has_complained = False
        self._breakers = BreakerLines()
        for endpoint in endpoints:
            metrics.endpoint_known(endpoint)

    def stream_opened(self, record: RequestRecord) -> None:
        """Note that a stream begins, before an upstream is asked. `ended` closes the stream."""
        try:
            self.metrics.stream_opened(record)
        except Exception:
            self._complain()

    def ended(self, record: RequestRecord) -> None:
        """Write the line of a request that has ended, and count the request. Call this once per request."""
        try:
            record.clock_out()
            if record.is_open and record.reason is None:
                record.reason = "internal"  # a fault of the gateway has ended the stream
            self._write(record)
        except Exception:
            self._complain()
        try:
            self.metrics.request_ended(record)
            if self._watcher is not None:
                self._watcher.ended(record)
        except Exception:
            self._complain()

    def relayed(  # noqa: PLR0913 - what is known of it
        self,
        request_id: str,
        *,
        trace_id: str,
        method: str,
        endpoint: str,
        upstream: str,
        status: int,
        size: int,
        began: float,
    ) -> None:
        """Report a relayed request that was answered at once. This does the work of `ended` at less cost.

        Args:
            size: the bytes of the body.
            began: the time at which the request arrived, by `time.monotonic()`.
        """
        try:
            self._log.info(
                "request",
                request_id=request_id,
                trace_id=trace_id,
                method=method,
                endpoint=endpoint,
                upstream=upstream,
                status=status,
                upstream_status=status,
                attempts=1,
                reason="done",
                bytes_in=size,
                bytes_out=size,
                duration_ms=milliseconds(time.monotonic() - began),
            )
            self.metrics.request_relayed(endpoint, status)
        except Exception:
            self._complain()

    def retried(self, upstream: str) -> None:
        """Count a retry of a request at the upstream with this label."""
        try:
            self.metrics.retried(upstream)
        except Exception:
            self._complain()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Count a failed attempt at the upstream with this label, also if another attempt follows."""
        try:
            self.metrics.upstream_failed(upstream, code)
            if self._watcher is not None:
                self._watcher.upstream_failed(upstream, code)
        except Exception:
            self._complain()

    def breaker_changed(self, upstream: str, state: BreakerState, failures: int) -> None:
        """Note that the breaker of an upstream has changed, or that it begins as `closed`.

        Args:
            upstream: the label of the upstream.
            state: the state of the breaker.
            failures: the number of failures in a row.
        """
        try:
            self.metrics.breaker_changed(upstream, state)
            self._breakers.changed(upstream, state, failures)
        except Exception:
            self._complain()

    def _write(self, record: RequestRecord) -> None:
        values = astuple(record)
        if (
            values[_RARE] == _NOTHING_RARE and None not in values[_USUAL]
        ):  # so no field needs a look of its own
            self._log.info(
                "request",
                request_id=record.request_id,
                trace_id=record.trace_id,
                span_id=record.span_id,
                method=record.method,
                endpoint=record.endpoint,
                upstream=record.upstream,
                speaks=record.speaks,
                answers=record.answers,
                framing=record.framing,
                status=record.status,
                upstream_status=record.upstream_status,
                attempts=record.attempts,
                reason=record.reason,
                events=record.events,
                bytes_in=record.bytes_in,
                bytes_out=record.bytes_out,
                first_event_ms=record.first_event_ms,
                duration_ms=record.duration_ms,
            )
            return
        fields = {
            name: value
            for name, value in zip(_FIELDS, _VALUES(record), strict=True)
            if value is not None and (value or name not in _OMITTED_AT_ZERO)
        }
        if record.path is not None:
            path = self._secrets.hide(with_short_handles(record.path))[:_SEARCHED_CHARACTERS]
            fields["path"] = hide_credentials(path)[:_PATH_CHARACTERS]
        if record.hint is not None:
            fields["hint"] = shown_hint(record.hint, self._secrets)
        if record.cause:
            fields["cause"] = [self._secrets.hide(text) for text in record.cause]
        went_well = record.code is None and record.hint is None
        (self._log.info if went_well else self._log.warning)("request", **fields)

    def _complain(self) -> None:
        """Log once that observing fails, because a line for every request would fill the log."""
        if not self._has_complained:
            self._has_complained = True
            logger.warning("telling of a request failed; this is said once", exc_info=True)


def shown_hint(hint: str, secrets: Secrets) -> str:
    """Return a hint in the form for log and console: without secrets, and shortened if it is too long."""
    return hide_credentials(secrets.hide(hint), limit=_HINT_CHARACTERS)
