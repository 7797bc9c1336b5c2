"""OpenAI's Responses API, streamed and whole.

Source: the Responses API; openai-node 6.49 (`lib/responses/ResponseAccumulator.ts`), openai-python 3.57
(`types/responses`, `lib/streaming/responses`).
Intended differences: a call that the server has run is written as an `mcp_call`, the only item that may name
any tool; a run that was stopped ends with `response.failed` and the code `CANCELLED`.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints
from streamweir.dialects.openai_responses.shared_words import EVENTS

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "openai-responses",
    ".decode:ResponsesDecoder",
    ".encode:ResponsesEncoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(names=EVENTS, keys=("object",)),
    client_paths=("/responses",),
    sample_request={"model": "default", "input": "Hello", "stream": True},
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    turn_collector=".turn:ResponsesTurn",
)
