"""Logs the events of a stream, each in the form of the standard protocol."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from streamweir.events import Event, Stamp, wire_message
from streamweir.translation.sink import EventTap

__all__ = ["LogTarget", "LoggingTap"]

logger = logging.getLogger("streamweir")

LogTarget: TypeAlias = logging.Logger | Callable[[dict[str, Any]], object]


class LoggingTap(EventTap):
    """Gives each event of one stream to a logger, at DEBUG, or to a function, whose exceptions are logged."""

    def __init__(self, target: LogTarget) -> None:
        self._target = target

    def write(self, event: Event, stamp: Stamp) -> None:
        """Log `event`."""
        target = self._target
        extra = {"request_id": stamp.request_id}
        try:
            if not isinstance(target, logging.Logger):
                target(wire_message(event, stamp))
            elif target.isEnabledFor(logging.DEBUG):
                target.debug("%s", wire_message(event, stamp), extra=extra)
        except Exception:
            logger.exception("the log of a stream failed", extra=extra)
