"""A stream whose upstream is the application in the same process.

In addition to bytes of a dialect, the stream takes events as objects (`push`), events that the application
writes into its stream as text (`in_process_events`), and the warnings that are collected for the request
(`context`). The loops that feed it are `EventStream` and the ASGI middleware.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from streamweir.context import WarningCollector, host_warning
from streamweir.errors import ErrorInfo, Reason
from streamweir.events import Error, Event, ToolCallEnd, Warning, failure_meta
from streamweir.jsontext import write_json
from streamweir.translation.items import SafeEvent, StreamItem
from streamweir.translation.translator import Translator

__all__ = ["ApplicationStream", "written_for_users"]

logger = logging.getLogger("streamweir")


class ApplicationStream:
    """One stream of the host application. The bytes for the client are returned by `translator.take()`.

    Args:
        collector: the collector of the request's warnings; opened and finished here, closed by the caller.
        options: the options of `Translator`.

    Attributes:
        translator: the translator of the stream; has its state and results.

    Raises:
        ConfigurationError: an option has an invalid value.
    """

    def __init__(self, *, collector: WarningCollector | None = None, **options: Any) -> None:
        self.translator = Translator(**options)
        self._stream = self.translator.stream
        self._stream.reader.frames.takes_marked = True
        self._debug = bool(options.get("debug"))
        self._collector = collector
        self._has_collected = False
        if collector is not None:
            self._stream.pipeline.lifecycle.closing_warnings.insert(0, collector.finish)

    def feed(self, data: bytes) -> None:
        """Take bytes that the application has sent. Never raises on input."""
        collector = self._collector
        if collector is not None and (collector.waiting or not self._has_collected):
            self._collect()
        self._stream.feed(data)

    def read_message(self, message: Mapping[str, Any]) -> None:
        """Take one message of the dialect that the application speaks, as an object. Never raises."""
        self._collect()
        self._stream.read_message(write_json(message))

    def push(self, event: Event) -> None:
        """Take an event as an object; its texts count as written for users. Never raises on a valid event."""
        self._collect()
        self._stream.push(written_for_users(event, debug=self._debug))

    def reject(self, problem: str) -> None:
        """Send a warning that an item was not an event, and log `problem`."""
        if self.translator.ended:
            return
        logger.warning(
            "left out of the stream: %s", problem, extra={"request_id": self.translator.request_id}
        )
        self._collect()
        self._stream.reject()

    def close(self) -> None:
        """End the stream, because its body has ended properly."""
        self._collect()
        self._stream.close()

    def close_returned(self) -> None:
        """End the stream, because the application's own function has returned.

        In the standard protocol a return is a proper end, unless the text stops within an event. Text in
        another dialect still needs the end mark of that dialect.
        """
        self._collect()
        self._stream.close_returned()

    def fail(self, failure: BaseException | ErrorInfo | str) -> None:
        """End the stream with an error, because the application failed."""
        self._collect()
        self._stream.fail(self.translator.info_of(failure))

    def cancel(self, reason: Reason = "cancelled") -> None:
        """End the stream without an error, because the run was stopped on request."""
        self._collect()
        self._stream.cancel(reason)

    def _collect(self) -> None:
        """Take the collected warnings, to be sent before the next event."""
        collector = self._collector
        if collector is None or self.translator.ended:
            return
        self._has_collected = True
        collector.open()
        for warning in collector.drain():
            self._stream.pipeline.warn(warning)


def written_for_users(event: Event, *, debug: bool) -> StreamItem:
    """Return an event of the application, with its texts marked as written for users."""
    match event:
        case Warning(message=message, message_code=code, detail=detail):
            safe = host_warning(message, code, detail, debug=debug)
            safe.meta = failure_meta(event.meta)
            return SafeEvent(safe)
        case Error() | ToolCallEnd() if event.for_users is None:
            return msgspec.structs.replace(event, for_users=True)
    return event
