"""Events that the host application puts into a stream as text, known by a mark that nobody else can write.

    data: {"streamweir":"<32 random hex digits>","type":"warning","data":{...},"metadata":{...}}

The mark is made anew in every process and is the first key of the JSON text. Whoever reads the stream in
the same process (`HostTranslator`) takes such an event as it is, whatever dialect surrounds it, and removes
the mark; the shape of an event proves nothing. It is looked for in two places: in a piece that is nothing
else, before framing (`whole_event`), so that it may come while the application is in the middle of relaying
another event; and in a frame (`event_in`), where the network has cut the text or another library has framed
it once more.

Source: the library contract, section 2.
"""

from __future__ import annotations

import time
from typing import Any, Final, Literal, NamedTuple

from streamweir.classification import classify_exception
from streamweir.codec.process_token import PROCESS_TOKEN, TOKEN_KEY, TOKEN_PREFIX
from streamweir.codec.standard_events import read_standard
from streamweir.context import current_collector, current_request_id, host_warning
from streamweir.errors import ConfigurationError, ErrorInfo, MalformedEvent
from streamweir.events import Error, Event, Warning, wire_data
from streamweir.framing import Frame, write_ndjson, write_sse
from streamweir.jsontext import parse_json, write_json
from streamweir.stages import error_event
from streamweir.stream_error import log_failure

__all__ = ["MarkedEvent", "event_in", "stream_error_event", "stream_warning_event", "whole_event"]

_SSE: Final = b"data: "
_STARTS: Final = (_SSE + TOKEN_PREFIX, TOKEN_PREFIX)


def stream_warning_event(
    message: str,
    *,
    message_code: str | None = None,
    detail: Any = None,
    framing: Literal["sse", "ndjson"] = "sse",
) -> str:
    """Return a framed warning, to be sent within a stream; the message is redacted.

    `detail` is part of it only in a request whose stream is made under `debug`.

    Raises:
        ConfigurationError: `framing` is neither `sse` nor `ndjson`.
    """
    collector = current_collector()
    debug = collector is not None and collector.debug
    return _framed(host_warning(message, message_code, detail, debug=debug), framing)


def stream_error_event(
    error: BaseException | ErrorInfo,
    *,
    framing: Literal["sse", "ndjson"] = "sse",
    debug: bool = False,
) -> str:
    """Return a framed terminal error, to be sent as the last event of a stream; an exception is logged.

    It never holds the exception's text; with `debug`, `details` has it redacted.

    Raises:
        ConfigurationError: `framing` is neither `sse` nor `ndjson`.
    """
    if isinstance(error, ErrorInfo):
        return _framed(error_event(error), framing)
    log_failure(error, request_id=current_request_id())
    return _framed(error_event(classify_exception(error, debug=debug)), framing)


def _framed(event: Event, framing: str) -> str:
    request_id = current_request_id()
    message = {
        TOKEN_KEY: PROCESS_TOKEN,
        "type": event.type,
        "data": wire_data(event),
        "metadata": {
            **({"request_id": request_id} if request_id else {}),
            "timestamp": time.time_ns() // 1_000_000,
        },
    }
    frame = Frame(write_json(message))
    match framing:
        case "sse":
            return write_sse(frame, prefix=_SSE).decode()
        case "ndjson":
            return write_ndjson(frame).decode()
    raise ConfigurationError(f"unknown framing {framing!r} (one of: sse, ndjson)")


class MarkedEvent(NamedTuple):
    """A marked event, found in a frame, and what stood before it there: half an event, if anything."""

    event: Event
    before: bytes


def whole_event(data: bytes) -> Event | None:
    """Return the marked event that `data` is, None if it is anything else or more than one."""
    if not data.startswith(_STARTS):
        return None
    line, _, rest = data.partition(b"\n")
    return None if rest.strip() else _read(line.removeprefix(_SSE))


def event_in(data: bytes) -> MarkedEvent | None:
    """Return the marked event that the data of a frame ends with, None if there is none."""
    start = data.find(TOKEN_PREFIX)
    if start < 0:
        return None
    event = _read(data[start:].partition(b"\n")[0])
    return None if event is None else MarkedEvent(event, data[:start].removesuffix(_SSE).strip())


def _read(text: bytes) -> Event | None:
    try:
        message = parse_json(text)[0]
    except MalformedEvent:
        return None
    event = read_standard(message)
    if isinstance(event, Error | Warning):
        event.for_users = True
    return event
