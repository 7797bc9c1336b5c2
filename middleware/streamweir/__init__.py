"""streamweir: one agent-event protocol in front of every AI backend.

Importing it starts nothing and changes nothing in the process.
"""

from importlib.metadata import PackageNotFoundError, version

from streamweir.classification import classify_exception
from streamweir.context import (
    RequestIDLogFilter,
    bind_context,
    collect_stream_warning,
    current_request_id,
)
from streamweir.detect import detect_dialect
from streamweir.dialects import Decoder, Encoder, list_dialects, register_dialect
from streamweir.engine import StreamingEngine
from streamweir.errors import (
    ConfigurationError,
    ErrorInfo,
    EventValidationError,
    LifecycleError,
    StreamweirError,
    UnknownDialectError,
)
from streamweir.event_stream import EventStream
from streamweir.events import PROTOCOL_VERSION, Event, Stamp
from streamweir.framing import Frame
from streamweir.limits import Limits
from streamweir.message_state import MessageState, MessageStreamHandler
from streamweir.normalize import normalize_stream_event, parse_stream_line
from streamweir.preflight import preflight_envelope
from streamweir.received import ReceivedEvent
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.stream_error import StreamError
from streamweir.stream_events import stream_error_event, stream_warning_event
from streamweir.translator import Translator, convert

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
    "new_request_id",
    "normalize_stream_event",
    "parse_stream_line",
    "preflight_envelope",
    "register_dialect",
    "stream_error_event",
    "stream_warning_event",
    "valid_request_id",
]
