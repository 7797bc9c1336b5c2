"""Writes one request and its stream as the lines of a capture.

Source: the contract of capture files, sections 1 to 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final, Literal

import streamweir
from streamweir.capture.cut_body_mask import CutBodyMask, MaskedRead
from streamweir.capture.masking import SecretMask
from streamweir.capture.request_secrets import secrets_in
from streamweir.capture.writing import CaptureWriter, body_fields, recorded_headers
from streamweir.codec.dialects import Dialects
from streamweir.errors import ErrorInfo
from streamweir.events import Event, Stamp, wire_message
from streamweir.redaction import hide_credentials
from streamweir.request_id import new_request_id
from streamweir.translation.sink import EventTap
from streamweir.translation.translator import Translator
from streamweir_gateway.upstream.request import Headers, UpstreamRequest

__all__ = ["Recording", "RecordingOptions"]

Ended = Literal["eof", "broken", "left", "refused"]

_OK: Final = 200
_SILENCE_MS: Final = 1000.0
_SILENCE_GAPS: Final = 5
"""A silence is at least this many times as long as the usual gap."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The options with which a recorded stream is read.

    Attributes:
        speaks: the dialect of the backend; `auto`: it is detected.
        dialects: the dialects by name.
        with_content: whether to keep the bodies; False: only their lengths are kept.
    """

    speaks: str
    dialects: Dialects
    with_content: bool


class Recording(EventTap):
    """Writes one capture; a tap of the recorded stream.

    Args:
        url: the URL of the upstream; its credentials are left out.
        request: the request to the upstream.
        options: the options with which the stream is read.
        mask: hides secrets in every line; it learns those in the heads of request and response.
        write: takes each line.

    Attributes:
        outcome: a sentence that tells how the stream ended.
    """

    def __init__(
        self,
        url: str,
        request: UpstreamRequest,
        options: RecordingOptions,
        mask: SecretMask,
        write: Callable[[bytes], object],
    ) -> None:
        self.outcome = "stopped"
        self._options = options
        self._upstream = request.origin.netloc
        self._mask = mask
        self._began_at = datetime.now(UTC)
        self._started = time.monotonic()
        self._lines = CaptureWriter(write, mask)
        self._body = CutBodyMask(mask)
        self._arrivals: list[float] = []
        self._gaps: list[float] = []
        self._bytes = 0
        self._written = 0
        self._now = 0.0
        self._is_over = False
        self._is_stream = True
        request_id = new_request_id()
        self._translator = Translator(
            speaks=options.speaks,
            request_id=request_id,
            clock=lambda: round(self._began_at.timestamp() * 1000 + self._now),
            dialects=options.dialects,
        )
        self._translator.write_to(self)
        self._events: list[dict[str, Any]] = []
        """The events that have come from the present read."""
        self._lines.begin(
            id=request_id,
            began=self._began_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            by=f"streamweir {streamweir.__version__}",
            **{"from": "record"},
            content="full" if options.with_content else "metadata",
            speaks=options.speaks,
            answers="standard",
        )
        self._note_request(url, request)

    @property
    def elapsed(self) -> float:
        """The milliseconds since the capture began."""
        return (time.monotonic() - self._started) * 1000

    @property
    def has_ended(self) -> bool:
        """Whether the stream has ended by its own end event."""
        return self._translator.ended

    def note_response(self, status: int, headers: Headers) -> None:
        """Write the head of the response."""
        self._is_stream = status == _OK
        texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        self._learn(texts)
        shown = recorded_headers(texts, self._mask)
        self._lines.line("response", self.elapsed, side="upstream", attempt=1, status=status, headers=shown)

    def note_read(self, data: bytes) -> None:
        """Note one read of the body. It is written when no secret can continue in the next read."""
        self._arrivals.append(self.elapsed)
        self._bytes += len(data)
        for read in self._body.feed(data):
            self._write_read(read)

    def note_cause(self, failure: Exception) -> None:
        """Add to the outcome what the system said of the failure. The capture does not hold it."""
        cause = failure.__cause__
        reason = getattr(cause, "strerror", None) or cause
        self.outcome += f": {failure}" if reason is None else f": {failure}: {reason}"

    def end(self, ended: Ended, failure: ErrorInfo | None = None) -> None:
        """Write the end of the only attempt and of the stream.

        Args:
            ended: how the response ended.
            failure: the failure that ended it; None after a proper end.
        """
        if self._is_over:
            return
        self._is_over = True
        for read in self._body.finish():
            self._write_read(read)
        self._now = now = self.elapsed
        code = failure.code if failure is not None else None
        self._lines.line("attempt", now, attempt=1, upstream=self._upstream, ended=ended, code=code)
        if failure is not None:
            self._translator.fail(failure)
        elif ended == "left":
            self._translator.cancel("client_gone")
        else:
            self._translator.close()
        self._write_events(None)
        self._write_end()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Keep an event until the lines about its read have been written."""
        self._events.append(wire_message(event, stamp))

    def stop(self) -> None:
        """End the capture, because the user has stopped it. The attempt was left."""
        self.end("left")

    def _learn(self, headers: Iterable[tuple[str, str]], target: str = "") -> None:
        self._mask.add(secrets_in(((name.lower(), value) for name, value in headers), target))

    def _note_request(self, url: str, request: UpstreamRequest) -> None:
        self._learn(request.headers, request.target)
        masked, count = self._mask.apply(request.body.decode("latin-1"))
        body = self._shown(masked.encode("latin-1")) | ({"redacted": count} if count else {})
        self._lines.line(
            "request",
            self.elapsed,
            side="upstream",
            attempt=1,
            method=request.method,
            url=hide_credentials(self._mask.apply(url)[0]),
            headers=recorded_headers(request.headers, self._mask),
            body=body,
        )

    def _write_read(self, read: MaskedRead) -> None:
        self._now = now = self._arrivals[read.n]
        self._note_silence(read.n)
        shown = self._shown(read.data)
        self._lines.line("read", now, n=read.n, attempt=1, **shown, redacted=read.redacted or None)
        if not self._is_stream:
            return
        reader, malformed = self._translator.stream.reader, self._translator.counts["malformed"]
        had_output = reader.first_output is not None
        self._translator.feed(read.data)
        if reader.first_output is not None and not had_output:
            self._lines.line("mark", now, what="commit", attempt=1, read=read.n)
        if self._translator.counts["malformed"] > malformed:
            self._lines.line("mark", now, what="malformed", attempt=1, read=read.n)
        self._write_events(read.n)

    def _note_silence(self, n: int) -> None:
        if n == 0:
            return
        gap = self._arrivals[n] - self._arrivals[n - 1]
        if self._gaps and gap > max(_SILENCE_MS, _SILENCE_GAPS * median(self._gaps)):
            self._lines.line("mark", self._arrivals[n], what="silence", ms=round(gap), read=n)
        self._gaps = [*self._gaps[-200:], gap]

    def _shown(self, data: bytes) -> dict[str, Any]:
        return body_fields(data) if self._options.with_content else {"bytes": len(data)}

    def _write_events(self, read: int | None) -> None:
        events, self._events = self._events, []
        for event in events:
            self._written += 1
            if event["type"] == "warning":
                code = event["data"].get("message_code")
                self._lines.line("mark", self._now, what="warning", read=read, code=code)
            if not self._options.with_content:
                event.pop("data", None)
            self._lines.event(self._now, event, read=read)

    def _write_end(self) -> None:
        error = self._translator.error
        status = "error" if error is not None else "completed"
        reason = self._translator.reason or "completed"
        if reason in ("cancelled", "client_gone"):
            status = "cancelled"
        self.outcome = f"the stream ended as {status} ({error.code if error else reason})"
        self._lines.line(
            "end",
            self._now,
            reason=reason,
            status=status,
            code=error.code if error else None,
            events=self._written,
            bytes_in=self._bytes,
            bytes_out=0,
            client="read",
        )
