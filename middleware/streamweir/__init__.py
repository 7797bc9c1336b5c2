"""streamweir: one agent-event protocol in front of every AI backend.

Importing the package starts no task and changes no state of the process.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from streamweir.classification import classify_exception
from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.detector import detect_dialect
from streamweir.codec.registry import list_dialects, register_dialect
from streamweir.context import RequestIDLogFilter, bind_context, collect_stream_warning, current_request_id
from streamweir.emit.in_process_events import stream_error_event, stream_warning_event
from streamweir.errors import (
    ConfigurationError,
    ErrorCode,
    ErrorInfo,
    EventValidationError,
    LifecycleError,
    StreamweirError,
    UnknownDialectError,
)
from streamweir.events import PROTOCOL_VERSION, Event, Stamp
from streamweir.framing import Frame
from streamweir.http.error_envelope import preflight_envelope
from streamweir.options.limits import Limits
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.stream_error import StreamError
from streamweir.translation.message_state import MessageState, MessageStreamHandler
from streamweir.translation.received_event import ReceivedEvent
from streamweir.translation.single_event import normalize_stream_event, parse_stream_line
from streamweir.translation.sink import EventTap
from streamweir.translation.translator import Translator, convert

if TYPE_CHECKING:
    from streamweir.emit.event_stream import EventStream
    from streamweir.emit.streaming_engine import StreamingEngine
    from streamweir.requests.errors import RequestError
    from streamweir.translation.home_made_dialects import load_dialect
    from streamweir.translation.requests import read_request, write_request

    __version__: str

__all__ = [
    "PROTOCOL_VERSION",
    "ConfigurationError",
    "Decoder",
    "Encoder",
    "ErrorCode",
    "ErrorInfo",
    "Event",
    "EventStream",
    "EventTap",
    "EventValidationError",
    "Frame",
    "LifecycleError",
    "Limits",
    "MessageState",
    "MessageStreamHandler",
    "ReceivedEvent",
    "RequestError",
    "RequestIDLogFilter",
    "Stamp",
    "StreamError",
    "StreamingEngine",
    "StreamweirError",
    "Translator",
    "UnknownDialectError",
    "__version__",
    "bind_context",
    "classify_exception",
    "collect_stream_warning",
    "convert",
    "current_request_id",
    "detect_dialect",
    "list_dialects",
    "load_dialect",
    "new_request_id",
    "normalize_stream_event",
    "parse_stream_line",
    "preflight_envelope",
    "read_request",
    "register_dialect",
    "stream_error_event",
    "stream_warning_event",
    "valid_request_id",
    "write_request",
]


_LATER: Final = {
    "EventStream": "streamweir.emit.event_stream",
    "StreamingEngine": "streamweir.emit.streaming_engine",
    "RequestError": "streamweir.requests.errors",
    "load_dialect": "streamweir.translation.home_made_dialects",
    "read_request": "streamweir.translation.requests",
    "write_request": "streamweir.translation.requests",
}
"""Names that are imported from their modules at the first use, because `convert` does not need them."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        value = getattr(import_module(_LATER[name]), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow to load)

    try:
        return version("streamweir")
    except PackageNotFoundError:  # run from a bare source tree
        return "0+unknown"
