"""Translates a capture again: the recorded reads with their times, up to the recorded end.

Source: the contract of capture files, section 4 (`convert`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, cast, get_args

import msgspec

from streamweir.capture.capture import Capture
from streamweir.capture.reading import CaptureError
from streamweir.errors import CODES, ErrorInfo, Reason, error_info
from streamweir.request_id import valid_request_id
from streamweir.translation.translator import Translator

__all__ = ["Playback", "end_of_attempt", "prepare", "recorded_options"]

_PAIR: Final = 2
_TAKEN: Final = (
    *("debug", "eof", "full_text", "limits", "protocol_options", "raw", "stream_tool_arguments", "warnings"),
)
"""The options of endpoints that are also options of a `Translator`."""


def recorded_options(capture: Capture) -> dict[str, Any]:
    """Return the `Translator` options that a capture records: dialect, ids and options of the endpoint.

    The version of the standard protocol that the client got is left out: the events of a capture are of 1.1.
    """
    options = capture.meta.get("options")
    found = (
        {name: options[name] for name in _TAKEN if name in options} if isinstance(options, Mapping) else {}
    )
    if isinstance(chosen := found.get("protocol_options"), Mapping):
        found["protocol_options"] = {name: given for name, given in chosen.items() if name != "standard"}
    if isinstance(capture.meta.get("speaks"), str):
        found["speaks"] = capture.meta["speaks"]
    if valid_request_id(capture.id):
        found["request_id"] = capture.id
    if isinstance(capture.meta.get("session_id"), str):
        found["session_id"] = capture.meta["session_id"]
    return found


class Playback:
    """Plays a capture into a translator.

    Args:
        capture: the capture; its bytes were recorded.

    Raises:
        CaptureError: the bytes were not recorded.
    """

    def __init__(self, capture: Capture) -> None:
        if not capture.has_content:
            raise CaptureError("this capture has no content: it was made with the numbers of bytes alone")
        self._capture = capture
        self._began = _unix_ms(capture.meta.get("began"))
        self._t = 0.0

    def clock(self) -> int:
        """Return the recorded time of the current read, in Unix milliseconds."""
        return self._began + round(self._t)

    def pieces(self, translator: Translator) -> Iterator[bytes]:
        """Yield the output of the translator for each read, and for the end."""
        prepare(translator, self._capture)
        is_refusal = (self._capture.last_attempt or {}).get("ended") == "refused"
        for t, data in () if is_refusal else self._capture.reads:
            self._t = t
            yield translator.feed(data)
            if translator.ended:
                return
        yield self._end(translator)

    def _end(self, translator: Translator) -> bytes:
        attempt, end = self._capture.last_attempt, self._capture.end or {}
        self._t = max(self._t, (attempt or {}).get("t", 0.0))
        if attempt is not None and (last := end_of_attempt(translator, attempt)) is not None:
            return last
        reason = _reason(end.get("reason"))
        if end.get("status") == "cancelled":
            return translator.cancel(reason or "cancelled")
        code = end.get("code") or (attempt or {}).get("code")
        known, wait = code if code in CODES else "UPSTREAM_TRUNCATED", _wait_in(self._capture)
        return translator.fail(error_info(known, reason=reason, retry_after_ms=wait))


def prepare(translator: Translator, capture: Capture) -> None:
    """Give the decoder the recorded facts of the request and of the response's head."""
    options, head = capture.meta.get("options"), capture.response("upstream")
    given = options.get("given") if isinstance(options, Mapping) else None
    if isinstance(options, Mapping) and options.get("turns") == "on":
        translator.stream.pipeline.questions.is_on = True
    if isinstance(given, Mapping):
        translator.stream.reader.hand_over({str(name): str(value) for name, value in given.items()})
    headers = head.get("headers") if head is not None else None
    if isinstance(headers, list):
        pairs = [pair for pair in headers if isinstance(pair, list) and len(pair) == _PAIR]
        translator.stream.reader.note_headers(
            [
                (str(name).encode("latin-1", "replace"), str(value).encode("latin-1", "replace"))
                for name, value in pairs
            ]
        )


def end_of_attempt(translator: Translator, attempt: Mapping[str, Any]) -> bytes | None:
    """End a translator in the way that an attempt ended; return its last bytes, or None if the line of the
    attempt does not tell how it ended.

    Args:
        translator: the translator, which has been given all reads of the attempt.
        attempt: the line of the attempt.
    """
    if attempt.get("ended") == "eof":
        return translator.close()
    if isinstance(attempt.get("failure"), Mapping):
        try:
            return translator.fail(msgspec.convert(attempt["failure"], ErrorInfo))
        except msgspec.ValidationError:
            return None
    reason = _reason(attempt.get("reason"))
    if reason in ("cancelled", "client_gone"):
        return translator.cancel(reason)
    return None if reason is None else translator.close()


def _wait_in(capture: Capture) -> int | None:
    """Return the `retry_after_ms` of the recorded terminal error; None if it has none."""
    for event in reversed(capture.events):
        data = event.get("data")
        if event.get("type") == "error" and isinstance(data, Mapping):
            wait = data.get("retry_after_ms")
            return wait if type(wait) is int and wait >= 0 else None
    return None


def _reason(word: Any) -> Reason | None:
    return cast("Reason", word) if word in get_args(Reason) else None


def _unix_ms(began: Any) -> int:
    try:
        return round(datetime.fromisoformat(str(began)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
