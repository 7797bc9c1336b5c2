"""The LangGraph API server (LangGraph Platform, `langgraph dev`): runs with their stream modes.

Source: langgraph-sdk 0.4.14 (`sse.py`, `schema.py`), LangGraph API server 0.16.7; its own recorded streams.
Intended differences: the state at the beginning of a run is history; messages that a state repeats are left
out.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "langgraph-server",
    ".decode:LanggraphServerDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("metadata", "messages/metadata", "messages/partial", "messages/complete"),
            *("updates", "values", "messages", "custom", "tasks", "debug", "tools", "checkpoints"),
            *("lifecycle", "input.requested"),
        ),
        keys=("attempt", "messages", "__error__"),
    ),
    sample_request={
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": "Which region grows?"}]},
        "stream_mode": ["messages-tuple", "updates"],
    },
    request_writer=".request:WRITER",
)
