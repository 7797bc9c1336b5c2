"""Anthropic's Messages API, streamed and whole.

Source: the Messages API; @anthropic-ai/sdk 1.12 (`core/streaming.ts`, `lib/MessageStream.ts`), anthropic 2.12
for Python (`_streaming.py`, `lib/streaming/_messages.py`).
Intended differences: a call that the server has run is written as `mcp_tool_use` and `mcp_tool_result`, the
only pair of blocks that may name any tool; no signatures are made.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "anthropic",
    ".decode:AnthropicDecoder",
    ".encode:AnthropicEncoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
            *("message_delta", "message_stop", "message", "ping", "error"),
        ),
    ),
    client_paths=("/messages",),
    sample_request={
        "model": "default",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
    },
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    turn_collector=".turn:AnthropicTurn",
)
