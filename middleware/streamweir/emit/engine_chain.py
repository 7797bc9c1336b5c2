"""The chain behind a `StreamingEngine`: the stages of a `Translator`, and an end that waits to be asked for.

Between the stages and the wire it does three things: a terminal error goes out at once, but `session_end`
after it is kept until the caller ends the stream; what the caller says in a summary wins; each event is
logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from streamweir.emit.host_translator import HostTranslator
from streamweir.errors import ErrorInfo
from streamweir.events import Error, Event, Meta, SessionEnd, wire_data
from streamweir.stages import error_event

__all__ = ["EngineChain", "EventLog"]

logger = logging.getLogger("streamweir")

EventLog: TypeAlias = logging.Logger | Callable[[dict[str, Any]], object]


class EngineChain(HostTranslator):
    """One stream of a `StreamingEngine`.

    Args:
        log: gets each event in the form of the standard protocol.
        options: those of `Translator`.
    """

    def __init__(self, *, log: EventLog | None = None, **options: Any) -> None:
        super().__init__(speaks="standard", stream_tool_arguments=True, **options)
        self._log = log
        self._keeps_end = False
        self._kept_end: SessionEnd | None = None
        self._summary: Mapping[str, Any] = {}
        self._failure_meta: Meta | None = None
        self.start_time = self._progress.now

    @property
    def began(self) -> bool:
        """`session_start` has been sent."""
        return self._lifecycle.started

    @property
    def over(self) -> bool:
        """`session_end` has been sent."""
        return self.ended and self._kept_end is None

    @property
    def failed(self) -> bool:
        """A terminal error has been sent, and its `session_end` has not."""
        return self._kept_end is not None

    @property
    def sequence(self) -> int:
        """The number of the next event."""
        return self._progress.written

    def has_started(self, tool_id: str) -> bool:
        """A call with this id has begun, and is over or not."""
        return self._tools.has_started(tool_id)

    def has_ended(self, tool_id: str) -> bool:
        """The call with this id is over."""
        return self._tools.has_ended(tool_id)

    def push_error(self, event: Error) -> bytes:
        """Send a terminal error; `session_end` is kept for `end`."""
        self._keeps_end = True
        return self.push(event)

    def fail_with(self, failure: BaseException, meta: Meta | None) -> bytes:
        """End the stream with the error that `failure` is; `meta` is that error's own."""
        self._failure_meta = meta
        return self.fail(failure)

    def end(self, event: SessionEnd) -> bytes:
        """End the stream; after a terminal error, with what was kept and what `event` adds to it."""
        self._summary = event.summary or {}
        if self._kept_end is None:
            return self.push(event)
        kept, self._kept_end, self._keeps_end = self._kept_end, None, False
        self._progress.now = self._clock()
        meta: Meta = {**(kept.meta or {}), **(event.meta or {})}
        summary = {**(kept.summary or {}), "duration_ms": max(0, self._progress.now - self.start_time)}
        ending = msgspec.structs.replace(
            kept, reason=event.reason or kept.reason, summary=summary, meta=meta or None
        )
        self._guarded(lambda: self._write(ending))
        return self._drain()

    def _end_with(self, info: ErrorInfo) -> None:
        if not self.ended:
            self._push(msgspec.structs.replace(error_event(info), meta=self._failure_meta))

    def _write(self, event: Event) -> None:
        if isinstance(event, SessionEnd):
            if self._keeps_end:
                self._kept_end = event
                return
            reported = {name: value for name, value in self._summary.items() if value is not None}
            event = msgspec.structs.replace(event, summary={**(event.summary or {}), **reported})
        if self._log is not None:
            self._write_log(event, self._log)
        super()._write(event)

    def _drain(self) -> bytes:
        if self._kept_end is None:
            return super()._drain()
        out, self._out = self._out, []
        return b"".join(out)

    def _write_log(self, event: Event, log: EventLog) -> None:
        ours = {
            "request_id": self.request_id,
            "timestamp": self._progress.now,
            "sequence": self._progress.written,
        }
        message = {
            "type": event.type,
            "data": wire_data(event),
            "metadata": {**ours, **(event.meta or {})},
        }
        try:
            if isinstance(log, logging.Logger):
                if log.isEnabledFor(logging.DEBUG):
                    log.debug("%s", message, extra={"request_id": self.request_id})
            else:
                log(message)
        except Exception:
            logger.exception("the log of a stream failed", extra={"request_id": self.request_id})
