"""What the client asked for: its framing by `Accept`, its protocol by header or query.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal
from urllib.parse import parse_qsl

from streamweir.asgi.headers import HeaderList, header_values
from streamweir.errors import ConfigurationError
from streamweir.output import FramingChoice

__all__ = ["PROTOCOL_HEADER", "PROTOCOL_QUERY", "UnknownProtocolError", "choose_framing", "choose_protocol"]

PROTOCOL_HEADER: Final = b"x-streamweir-protocol"
PROTOCOL_QUERY: Final = "protocol"

StreamFraming = Literal["sse", "ndjson"]

_STREAMS: Final[dict[str, StreamFraming]] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
}
_OTHER: Final[dict[StreamFraming, StreamFraming]] = {"sse": "ndjson", "ndjson": "sse"}


class UnknownProtocolError(ConfigurationError):
    """The client's header names a protocol that this endpoint does not answer in."""


def choose_framing(accept: str, default: StreamFraming) -> FramingChoice:
    """Return the framing that an `Accept` header (all of its lines, joined by commas) asks for.

    Of the stream types it names, the one with the highest q wins; an equal q leaves it to `default`, and so
    does a header that names neither. `application/json` counts only without a stream type and without `*/*`.
    """
    weights = dict(_media_ranges(accept))
    wanted = {framing: weights.get(name, 0.0) for name, framing in _STREAMS.items()}
    best = max(wanted.values())
    if best > 0:
        named = [framing for framing, weight in wanted.items() if weight == best]
        return default if default in named else named[0]
    if weights.get("application/json", 0) > 0 and weights.get("*/*", 0) <= 0:
        return "json"
    refused = {framing for name, framing in _STREAMS.items() if weights.get(name, 1) <= 0}
    return _OTHER[default] if default in refused and _OTHER[default] not in refused else default


def choose_protocol(headers: HeaderList, query: bytes, answers: Sequence[str]) -> str:
    """Return the one of `answers` that the request asks for; the first where it asks for none.

    A foreign value in the query is the application's own affair.

    Raises:
        UnknownProtocolError: the header holds another value.
    """
    named = {value.strip() for value in header_values(headers, PROTOCOL_HEADER)}
    if named:
        choice = named.pop()
        if named or choice not in answers:
            raise UnknownProtocolError(f"this endpoint answers in: {', '.join(answers)}")
        return choice
    asked = (value for name, value in _parameters(query) if name == PROTOCOL_QUERY)
    return next((value for value in asked if value in answers), answers[0])


def _parameters(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return []


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
