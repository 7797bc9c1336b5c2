"""streamweir: one agent-event protocol in front of every AI backend.

Importing it starts nothing and changes nothing in the process.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from streamweir.classification import classify_exception
from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.detector import detect_dialect
from streamweir.codec.registry import list_dialects, register_dialect
from streamweir.context import (
    RequestIDLogFilter,
    bind_context,
    collect_stream_warning,
    current_request_id,
)
from streamweir.emit.event_stream import EventStream
from streamweir.emit.in_process_events import stream_error_event, stream_warning_event
from streamweir.emit.streaming_engine import StreamingEngine
from streamweir.errors import (
    ConfigurationError,
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
from streamweir.translation.translator import Translator, convert

if TYPE_CHECKING:
    from streamweir.translation.home_made_dialects import load_dialect

try:
    __version__ = version("streamweir")
except PackageNotFoundError:  # run from a bare source tree
    __version__ = "0+unknown"

__all__ = [
    "PROTOCOL_VERSION",
    "ConfigurationError",
    "Decoder",
    "Encoder",
    "ErrorInfo",
    "Event",
    "EventStream",
    "EventValidationError",
    "Frame",
    "LifecycleError",
    "Limits",
    "MessageState",
    "MessageStreamHandler",
    "ReceivedEvent",
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
    "register_dialect",
    "stream_error_event",
    "stream_warning_event",
    "valid_request_id",
]


def __getattr__(name: str) -> Any:
    """What most programs never need is loaded when it is asked for."""
    if name == "load_dialect":
        from streamweir.translation.home_made_dialects import load_dialect  # noqa: PLC0415

        return load_dialect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
