"""Plays a capture as the response to one request: status, content type, and reads at their original pace.

Source: the contract of capture files, section 4 (`replay`).
"""

from __future__ import annotations

import math
from http import HTTPStatus
from itertools import pairwise
from typing import Any, Final

from streamweir.capture import Capture
from streamweir_gateway.fake.run import Framing
from streamweir_gateway.fake.steps import Break, Pause, Raw, Send, Steps
from streamweir_gateway.fake.transfer import chunked

__all__ = ["replay_steps", "seen_framing"]

_FRAMINGS: Final = {"ndjson": "application/x-ndjson", "sse": "text/event-stream"}


def replay_steps(capture: Capture, speed: float) -> Steps:
    """Yield the steps to execute on the connection.

    Args:
        capture: a capture with content.
        speed: the factor by which the replay is faster; infinite: no pauses.
    """
    head = capture.response("upstream")
    ended = (capture.last_attempt or {}).get("ended")
    if head is None and ended == "refused":
        yield Break("close")
        return
    asked = max((request.get("t", 0.0) for request in capture.requests), default=0.0)
    answered = head.get("t", 0.0) if head is not None else asked
    yield Pause(_seconds(answered - asked, speed))
    yield Raw(_head(capture, head))
    yield from chunked(_body(capture, answered, speed, is_whole=_is_whole(head, ended)), has_last=True)


def seen_framing(body: bytes) -> Framing:
    """Return the framing of a recorded body, found by its first byte."""
    return "ndjson" if body.lstrip()[:1] in (b"{", b"[") else "sse"


def _head(capture: Capture, head: dict[str, Any] | None) -> bytes:
    lines = [
        f"HTTP/1.1 {_status(head)}",
        _content_type(capture, head),
        "Cache-Control: no-cache",
        "Transfer-Encoding: chunked",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _is_whole(head: dict[str, Any] | None, ended: Any) -> bool:
    """Return whether the body was recorded to its end. A refusal has a body too."""
    return ended == "eof" or (ended == "refused" and head is not None)


def _body(capture: Capture, began: float, speed: float, *, is_whole: bool) -> Steps:
    times = [began, *(t for t, _ in capture.reads)]
    for (before, now), (_, data) in zip(pairwise(times), capture.reads, strict=True):
        yield Pause(_seconds(now - before, speed))
        yield Send(data)
    ended = (capture.last_attempt or {}).get("t")
    if ended is not None:
        yield Pause(_seconds(ended - times[-1], speed))
    if not is_whole:
        yield Break("cut")


def _seconds(milliseconds: float, speed: float) -> float:
    return 0.0 if math.isinf(speed) else max(milliseconds, 0.0) / 1000 / speed


def _status(head: dict[str, Any] | None) -> str:
    status = (head or {}).get("status", 200)
    if not isinstance(status, int) or not 200 <= status <= 599:
        status = 200
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"


def _content_type(capture: Capture, head: dict[str, Any] | None) -> str:
    for header in (head or {}).get("headers", ()):
        is_pair = (
            isinstance(header, list) and len(header) == 2 and all(isinstance(text, str) for text in header)
        )
        if (
            is_pair
            and header[0].lower() == "content-type"
            and header[1].isprintable()
            and header[1].isascii()
        ):
            return f"Content-Type: {header[1]}"
    framing = capture.meta.get("framing")
    if framing not in _FRAMINGS:
        framing = seen_framing(capture.body)
    return f"Content-Type: {_FRAMINGS[framing]}"
