"""Formats a log line for people who read it on a terminal.

15:04:05 info  POST /chat 200 legacy -> standard, 42 events in 1.2 s [req_5f0c...]
15:04:09 warn  POST /chat 200 UPSTREAM_TRUNCATED truncated, 3 events in 0.1 s [req_77a1...]
               hint: ended after final text without done; ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from typing import Any, Final

__all__ = ["printable", "text_line"]

_INDENT: Final = "\n" + " " * 15
_LEVELS: Final = {"warning": "warn", "critical": "error"}
_SHOWN: Final = frozenset(
    {"event", "level", "timestamp", "logger", "exception", "request_id", "message", "config"}
)
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


def printable(text: str) -> str:
    """Return `text` with a space in place of each character that ends a line or controls a terminal.

    These are the control characters (including tab and line feed), the line separators of Unicode, and the
    marks that change the direction of writing.
    """
    return _CONTROLS.sub(" ", text)


def text_line(event: MutableMapping[str, Any]) -> str:
    """Return the text of an event: a line, then indented lines for hints, causes and the traceback.

    A line end within a value is replaced, so that no client can forge a line.
    """
    level = str(event.get("level", "info"))
    lines = _request_lines(event) if event.get("event") == "request" else _other_lines(event)
    first, *others = map(printable, lines)
    time = str(event.get("timestamp", ""))[11:19]
    return _INDENT.join([f"{time} {printable(_LEVELS.get(level, level)):5} {first}", *others])


def _request_lines(event: MutableMapping[str, Any]) -> Iterator[str]:
    parts = [event.get("method"), event.get("endpoint") or event.get("path"), event.get("status")]
    if event.get("speaks") and event.get("answers"):
        parts.append(f"{event['speaks']} -> {event['answers']},")
    parts += [event.get("code"), event.get("reason") if event.get("code") else None]
    if event.get("events") is not None:
        parts.append(f"{event['events']} events")
    elif event.get("bytes_in") is not None and event.get("bytes_out") is not None:
        parts.append(f"{event['bytes_out']} bytes")
    if (tokens := event.get("total_tokens")) is not None:
        parts.append(f"({tokens} tokens)")
    parts.append(f"in {_duration(event.get('duration_ms'))} [{event.get('request_id', '-')}]")
    yield " ".join(str(part) for part in parts if part is not None)
    if hint := event.get("hint"):
        yield f"hint: {hint}"
    for cause in event.get("cause", ()):
        yield f"cause: {cause}"


def _other_lines(event: MutableMapping[str, Any]) -> Iterator[str]:
    beside = [f"{name}={value}" for name, value in event.items() if name not in _SHOWN and value is not None]
    request_id = event.get("request_id")
    yield " ".join([str(event.get("event", "")), *beside, *([f"[{request_id}]"] if request_id else [])])
    if exception := event.get("exception"):
        yield from str(exception).splitlines()


def _duration(milliseconds: Any) -> str:
    if not isinstance(milliseconds, int | float):
        return "?"
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"
