"""The stages between decoder and encoder: each takes an event and returns the events for the next stage."""

from streamweir.stages.endings import REASON_OF_STATUS, error_event, info_of_error
from streamweir.stages.lifecycle import Lifecycle
from streamweir.stages.position import StreamPosition
from streamweir.stages.questions import HeldQuestions
from streamweir.stages.sanitizer import ErrorSanitizer
from streamweir.stages.stage import Stage, passed_on, routes
from streamweir.stages.text import FullText, TextDeduplication
from streamweir.stages.text_digest import TextDigest
from streamweir.stages.tools import Tools

__all__ = [
    "REASON_OF_STATUS",
    "ErrorSanitizer",
    "FullText",
    "HeldQuestions",
    "Lifecycle",
    "Stage",
    "StreamPosition",
    "TextDeduplication",
    "TextDigest",
    "Tools",
    "error_event",
    "info_of_error",
    "passed_on",
    "routes",
]
