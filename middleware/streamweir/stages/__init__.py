"""The stages between decoder and encoder: each takes an event and returns what goes on."""

from streamweir.stages.lifecycle import Lifecycle, error_event, info_of_error
from streamweir.stages.messages import FullText, Messages
from streamweir.stages.progress import Progress
from streamweir.stages.safety import Safety
from streamweir.stages.stage import Stage, passed_on, routes
from streamweir.stages.tools import Tools

__all__ = [
    "FullText",
    "Lifecycle",
    "Messages",
    "Progress",
    "Safety",
    "Stage",
    "Tools",
    "error_event",
    "info_of_error",
    "passed_on",
    "routes",
]
