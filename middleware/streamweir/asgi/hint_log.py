"""Hints for the operator about streams that were not understood: one WARNING per cause and minute.

Source: the configuration contract ("When a stream is not understood").
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final

from streamweir.codec.registry import process_dialects
from streamweir.translation.operator_hint import buffering_hint, stream_hint
from streamweir.translation.translator import Translator

__all__ = ["HintLog"]

logger = logging.getLogger("streamweir")

SECONDS: Final = 60.0
MAX_CAUSES: Final = 64
"""The most causes that are remembered; beyond that, the oldest one is forgotten."""

_NUMBER: Final = re.compile(r"\d+")


class HintLog:
    """Logs the hints of one middleware.

    Args:
        speaks: the configured dialect of the application.
        clock: returns seconds of a monotonic clock.
    """

    def __init__(self, speaks: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._speaks = speaks
        self._clock = clock
        self._reported: dict[str, float] = {}

    def report(
        self,
        translator: Translator,
        *,
        is_clean: bool,
        reading_ms: tuple[float, float] = (0.0, 0.0),
        unread: str | None = None,
    ) -> None:
        """Log the hint for a stream that has ended, if there is a hint and its cause was not logged in the
        last minute.

        Args:
            translator: the translator of the stream.
            is_clean: the application itself has ended the body.
            unread: the hint for a body that could not be decoded; None if it could.
            reading_ms: the time to the last event, from the request and from the first event, in ms.
        """
        stream = translator.stream
        hints = (
            unread
            or stream_hint(stream, speaks=self._speaks, dialects=process_dialects(), is_clean=is_clean),
            buffering_hint(stream.pipeline.position.written, *reading_ms),
        )
        hint = "; ".join(filter(None, hints))
        if hint and self._is_due(_NUMBER.sub("N", hint)):
            request_id = stream.pipeline.request_id
            logger.warning(
                "a stream was not understood: %s", hint, extra={"request_id": request_id, "hint": hint}
            )

    def _is_due(self, cause: str) -> bool:
        now = self._clock()
        last = self._reported.pop(cause, None)
        if last is not None and now - last < SECONDS:
            self._reported[cause] = last
            return False
        self._reported[cause] = now
        while len(self._reported) > MAX_CAUSES:
            del self._reported[next(iter(self._reported))]
        return True
