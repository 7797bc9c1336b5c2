"""A Translator whose upstream is the application in the same process.

What it takes beyond the bytes of a dialect: events that are made here (`push`), events that the application
puts into its stream as text (`stream_events`), and the warnings that are collected for the request
(`context`). The shells around an application, `EventStream` and the ASGI middleware, are loops around it.
"""

from __future__ import annotations

import logging
from typing import Any, Final, Literal

import msgspec

from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.context import WarningCollector, host_warning
from streamweir.emit.in_process_events import event_in, whole_event
from streamweir.errors import ErrorInfo, Reason
from streamweir.events import Error, Event, SessionEnd, ToolCallEnd, Warning, failure_meta
from streamweir.framing import Frame
from streamweir.translation.translator import Translator

__all__ = ["HostTranslator"]

logger = logging.getLogger("streamweir")

_BEHIND_SAFETY: Final = 1
"""Where marked events join the stages: their texts are safe since they were made."""


class HostTranslator(Translator):
    """One stream of the host application.

    Args:
        collector: the request's warnings; opened here, finished with the stream. Closing it is the shell's
            part.
        options: those of `Translator`.

    Raises:
        ConfigurationError: an option has a value that it cannot have.
    """

    def __init__(self, *, collector: WarningCollector | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._collector = collector
        if collector is not None:
            self._lifecycle.closing_warnings.insert(0, collector.finish)
        self._has_read_text = False

    # What the shells do

    def push(self, event: Event) -> bytes:
        """Take an event that is made here; its texts are written for users. Never raises on a valid event."""
        if self.ended:
            return b""
        self._collect()
        self._progress.now = self._clock()
        self._guarded(lambda: self._push_own(event))
        return self._drain()

    def reject(self, problem: str) -> bytes:
        """Something that came is no event: return the warning that tells so. `problem` is logged."""
        if self.ended:
            return b""
        logger.warning("left out of the stream: %s", problem, extra={"request_id": self.request_id})
        self._collect()
        self._progress.now = self._clock()
        self._guarded(lambda: self._note_malformed(Frame(b"")))
        return self._drain()

    def close(self) -> bytes:
        """The body has ended properly: return the end of the stream."""
        self._collect()
        return super().close()

    def finish(self) -> bytes:
        """The application's own function has returned: return the end of the stream.

        That is a proper end in the standard protocol, unless it stopped within an event. Text in another
        dialect needs its terminal evidence all the same.
        """
        if self.ended:
            return b""
        self._collect()
        self._progress.now = self._clock()
        self._guarded(self._finish_input)
        if self._ends_by_returning:
            status: Literal["suspended", "completed"] = (
                "suspended" if self._lifecycle.waits_for_answer else "completed"
            )
            self._guarded(lambda: self._push(SessionEnd(status=status)))
        self._guarded(self._close_decoder)
        self._guarded(lambda: self._end_with(self._what_is_missing()))
        return self._drain()

    def fail(self, failure: BaseException | ErrorInfo | str) -> bytes:
        """The application failed: return the end of the stream."""
        self._collect()
        return super().fail(failure)

    def cancel(self, reason: Reason = "cancelled") -> bytes:
        """The run was stopped on request: return the end of the stream, which is no error."""
        self._collect()
        return super().cancel(reason)

    # The chain

    @property
    def _ends_by_returning(self) -> bool:
        return not self._is_cut_off and (self.speaks == "standard" or not self._has_read_text)

    def _collect(self) -> None:
        """Take over the warnings that have been collected; they leave before the next event."""
        collector = self._collector
        if collector is None or self._lifecycle.ended:
            return
        collector.open()
        for warning in collector.drain():
            self._lifecycle.warn(warning)

    def _push_own(self, event: Event) -> None:
        """Send an event of the application's own: its texts are written for users, whatever it `speaks`."""
        self._release_lone()
        match event:
            case Warning(message=message, message_code=code, detail=detail):
                safe = host_warning(message, code, detail, debug=self._debug)
                safe.meta = failure_meta(event.meta)
                self._push(safe, _BEHIND_SAFETY)
            case Error() | ToolCallEnd() if event.for_users is None:
                self._push(msgspec.structs.replace(event, for_users=True))
            case _:
                self._push(event)

    def _take(self, data: bytes) -> None:
        if self._collector is not None and self._collector.has_news:
            self._collect()
        event = whole_event(data) if TOKEN_PREFIX in data else None
        if event is not None:
            self._release_lone()
            self._push(event, _BEHIND_SAFETY)
            return
        if not self._has_read_text:
            self._has_read_text = bool(data.strip())
        Translator._take(self, data)  # `super()` is looked up for each event

    def _read(self, frame: Frame) -> None:
        marked = event_in(frame.data)
        if marked is None:
            super()._read(frame)
            return
        if marked.before:
            self._note_malformed(frame)
        self._release_lone()
        self._push(marked.event, _BEHIND_SAFETY)
