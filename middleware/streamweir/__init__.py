"""streamweir: one agent-event protocol in front of every AI backend.

Importing it starts nothing and changes nothing in the process.
"""

from importlib.metadata import PackageNotFoundError, version

from streamweir.detect import detect_dialect
from streamweir.dialects import Decoder, Encoder, list_dialects
from streamweir.errors import (
    ConfigurationError,
    ErrorInfo,
    StreamweirError,
    UnknownDialectError,
)
from streamweir.events import PROTOCOL_VERSION, Event, Stamp
from streamweir.framing import Frame
from streamweir.limits import Limits
from streamweir.message_state import MessageState, MessageStreamHandler
from streamweir.received import ReceivedEvent
from streamweir.request_id import new_request_id, valid_request_id
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
    "Frame",
    "Limits",
    "MessageState",
    "MessageStreamHandler",
    "ReceivedEvent",
    "Stamp",
    "StreamweirError",
    "Translator",
    "UnknownDialectError",
    "__version__",
    "convert",
    "detect_dialect",
    "list_dialects",
    "new_request_id",
    "valid_request_id",
]
