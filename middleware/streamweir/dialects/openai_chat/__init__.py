"""OpenAI's chat completions, streamed and whole, as many servers and clients speak them.

Source: the Chat Completions API; openai-node 6.49 (`core/streaming.ts`, `lib/ChatCompletionStream.ts`),
openai-python 3.54 (`_streaming.py`, `lib/streaming/chat`), @ai-sdk/openai-compatible 2.0.91; LiteLLM 1.106
and hayhooks 2.1 as recorded.
Intended differences: the decoder also reads the variants of other servers; usage is written in the chunk of
the finish reason, because many clients read the first of `choices` of every chunk.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "openai-chat",
    ".decode:OpenAIChatDecoder",
    ".encode:OpenAIChatEncoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("choices", "error", "object")),
    client_paths=("/chat/completions", "/models"),
    sample_request={
        "model": "default",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
    },
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    turn_collector=".turn:OpenAIChatTurn",
)
