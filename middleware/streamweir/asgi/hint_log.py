"""What an operator is told of streams that were not understood: one WARNING per cause and minute.

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
"""So many causes are remembered; with more the oldest is forgotten."""

_NUMBER: Final = re.compile(r"\d+")


class HintLog:
    """Of one middleware.

    Args:
        speaks: the dialect that the application is said to speak.
        clock: seconds that only grow.
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
        """Warn of a stream that is over, unless it was understood or the same was said within a minute.

        Args:
            translator: of the stream.
            is_clean: the application has ended the body itself.
            unread: what to do about a body that could not be read at all.
            reading_ms: to the last event that came, from the request and from the first one; milliseconds.
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
