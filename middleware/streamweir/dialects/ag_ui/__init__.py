"""AG-UI, the protocol between agents and user interfaces, version 1.0 and older.

Source: ag-ui-protocol 1.0.0 (PyPI) and @ag-ui/client 1.0.0, 0.0.57, 0.0.40 (npm): their models and what the
clients verify; the streams of pydantic-ai 2.68 (1.0 and 0.1.10) and of agno 3.1.
Intended differences: chunks without ids continue the message or call with the last id; of a
`MESSAGES_SNAPSHOT` only the texts that were not streamed are part of the answer; written ids are unique to
the run, so that they never continue a message of an earlier run on the page.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "ag-ui",
    ".decode:AgUiDecoder",
    ".encode:AgUiEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED"),
            *("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"),
            *("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK"),
            *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT"),
            *("REASONING_START", "REASONING_END", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT"),
            *("REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "REASONING_ENCRYPTED_VALUE"),
            *("THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START"),
            *("THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END"),
        )
    ),
    sample_request={
        "threadId": "thread-1",
        "runId": "run-1",
        "state": {},
        "messages": [{"id": "message-1", "role": "user", "content": "Which region grows?"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    },
)
