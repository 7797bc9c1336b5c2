"""The framings in which a stream can be written, and their content types."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["MEDIA_TYPES", "FramingChoice"]

FramingChoice = Literal["sse", "ndjson", "lines", "json"]
"""`json` is the folded result: one object instead of a stream."""

MEDIA_TYPES: Final[dict[str, str]] = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "lines": "text/plain; charset=utf-8",
    "json": "application/json",
}
