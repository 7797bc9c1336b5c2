"""The UI message stream of the Vercel AI SDK, version 1: what `useChat` of AI SDK 5, 6 and 7 reads.

Source: ai 5.0.0, 5.0.277, 6.0.326 and 7.0.172 (npm): the schema of the chunks and how the client reads them;
the streams of AI SDK 6 and of pydantic-ai 2.68.
Intended differences: ids of text parts count per stream; steps are bookkeeping; a finished call is final, a
preliminary output is progress. `reset-step` takes back the texts of the step and ends its open calls as
failed; reasoning and finished calls stay.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "vercel-ui",
    ".decode:VercelUiDecoder",
    ".encode:VercelUiEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("start", "start-step", "finish-step", "finish", "error", "abort"),
            *("text-start", "text-delta", "text-end"),
            *("reasoning-start", "reasoning-delta", "reasoning-end"),
            *("tool-input-start", "tool-input-delta", "tool-input-available"),
            *("tool-output-available", "tool-output-error"),
        )
    ),
    sample_request={
        "id": "chat-1",
        "trigger": "submit-message",
        "messages": [
            {
                "id": "message-1",
                "role": "user",
                "parts": [{"type": "text", "text": "Which region grows?"}],
            }
        ],
    },
)
