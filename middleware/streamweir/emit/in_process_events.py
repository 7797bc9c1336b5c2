"""Events that the host application writes into a stream as text, with a mark that only this process knows.

A reader in the same process recognises the mark (`marked_event`) and takes the event unchanged. If no stream
of this library can take the event, the event is written without the mark. The mark is a secret: a client that
saw it could write events in the name of the process.

Source: the library contract, section 2.
"""

from __future__ import annotations

from typing import Any, Literal

from streamweir.classification import classify_exception
from streamweir.codec.process_token import PROCESS_TOKEN, TOKEN_KEY
from streamweir.context import current_collector, current_request_id, host_warning
from streamweir.errors import ConfigurationError, ErrorInfo
from streamweir.events import Event, wire_data
from streamweir.framing import Frame, write_ndjson, write_sse
from streamweir.jsontext import write_json
from streamweir.metadata import unix_milliseconds
from streamweir.stages import error_event
from streamweir.stream_error import log_failure
from streamweir.translation.reading.marked_event import SSE_PREFIX

__all__ = ["stream_error_event", "stream_warning_event"]


def stream_warning_event(
    message: str,
    *,
    message_code: str | None = None,
    detail: Any = None,
    framing: Literal["sse", "ndjson"] = "sse",
) -> str:
    """Return a framed warning, to be sent within a stream; the message is redacted.

    `detail` is included only if the stream of the request has `debug`.

    Raises:
        ConfigurationError: `framing` is neither `sse` nor `ndjson`.
    """
    collector = current_collector()
    debug = collector is not None and collector.debug
    return _framed(host_warning(message, message_code, detail, debug=debug), framing)


def stream_error_event(
    error: BaseException | ErrorInfo, *, framing: Literal["sse", "ndjson"] = "sse", debug: bool = False
) -> str:
    """Return a framed terminal error, to be sent as the last event of a stream; an exception is logged.

    The exception's text is never included; with `debug`, `details` has a redacted form of it.

    Raises:
        ConfigurationError: `framing` is neither `sse` nor `ndjson`.
    """
    if isinstance(error, ErrorInfo):
        return _framed(error_event(error), framing)
    log_failure(error, request_id=current_request_id())
    return _framed(error_event(classify_exception(error, debug=debug)), framing)


def _framed(event: Event, framing: str) -> str:
    request_id, collector = current_request_id(), current_collector()
    is_taken = collector is not None and collector.takes_more
    message = {
        **({TOKEN_KEY: PROCESS_TOKEN} if is_taken else {}),
        "type": event.type,
        "data": wire_data(event),
        "metadata": {
            **({"request_id": request_id} if request_id else {}),
            "timestamp": unix_milliseconds(),
        },
    }
    frame = Frame(write_json(message))
    match framing:
        case "sse":
            return write_sse(frame, prefix=SSE_PREFIX).decode()
        case "ndjson":
            return write_ndjson(frame).decode()
    raise ConfigurationError(f"unknown framing {framing!r} (one of: sse, ndjson)")
