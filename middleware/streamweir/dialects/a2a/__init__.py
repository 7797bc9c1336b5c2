"""The Agent2Agent protocol (A2A), 1.0 and 0.3: JSON-RPC over SSE, single answers, and the HTTP+JSON form.

Source: the A2A specification 1.0 and 0.3; a2a-sdk 1.3.0 and 0.3.26 (`server`, `compat/v0_3`); their own
recorded streams.
Intended differences: the reports of a working agent are thinking, not the answer; content that a task repeats
at its end is passed on once.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "a2a",
    ".decode:A2aDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=("task", "message", "status-update", "artifact-update"),
        keys=("jsonrpc", "task", "message", "statusUpdate", "artifactUpdate", "error"),
    ),
    sample_request={
        "jsonrpc": "2.0",
        "id": "1",
        "method": "SendStreamingMessage",
        "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}},
    },
    request_writer=".request:WRITER",
)
