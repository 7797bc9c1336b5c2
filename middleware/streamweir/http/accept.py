"""The framing that a client asks for by `Accept`.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal

from streamweir.framing import FramingChoice

__all__ = ["STREAM_FRAMINGS", "StreamFraming", "accepts_any", "choose_framing"]

StreamFraming = Literal["sse", "ndjson"]

STREAM_FRAMINGS: Final[Mapping[str, StreamFraming]] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/jsonl": "ndjson",
}
"""The framings of agent streams, by media type."""

_OTHER: Final[dict[StreamFraming, StreamFraming]] = {"sse": "ndjson", "ndjson": "sse"}


def choose_framing(accept: str, default: StreamFraming) -> FramingChoice:
    """Return the framing that an `Accept` header asks for (all lines of the header, joined by commas).

    Of the stream types in the header, the one with the highest q is chosen; with an equal q, or without a
    stream type, `default` is. `application/json` counts only without a stream type and without `*/*`.
    """
    if accept in ("", "*/*"):
        return default
    weights = dict(_media_ranges(accept))
    wanted = [(weights.get(name, 0.0), framing) for name, framing in STREAM_FRAMINGS.items()]
    best = max(weight for weight, _ in wanted)
    if best > 0:
        named = [framing for weight, framing in wanted if weight == best]
        return default if default in named else named[0]
    if weights.get("application/json", 0) > 0 and weights.get("*/*", 0) <= 0:
        return "json"
    refused = {framing for name, framing in STREAM_FRAMINGS.items() if weights.get(name, 1) <= 0}
    return _OTHER[default] if default in refused and _OTHER[default] not in refused else default


def accepts_any(accept: str, media_types: Collection[str]) -> bool:
    """Return whether an `Accept` header names one of these types explicitly, not by a wildcard."""
    return any(name in media_types and weight > 0 for name, weight in _media_ranges(accept))


def _media_ranges(accept: str) -> Iterator[tuple[str, float]]:
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        if name:
            yield name, _weight(parameters)


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 1.0
    return 1.0
