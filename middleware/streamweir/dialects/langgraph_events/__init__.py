"""LangChain and LangGraph behind home-made servers: `astream_events`, and `astream` in its stream modes.

Source: langchain-core 1.7 (`tracers/event_stream.py`), langgraph 1.2 (`types.py`); streams of both.
Intended differences: a run repeats the output of the runs inside it, and a state repeats messages;
repetitions are left out.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "langgraph-events",
    ".decode:LanggraphEventsDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=("messages", "updates", "values", "custom", "tasks", "debug", "tools", "checkpoints"),
        starts=(b'{"', b"[", b'"{', b'"['),
    ),
)
