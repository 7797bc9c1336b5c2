"""Flowise's predictions: chatflows and agentflows.

Source: FlowiseAI/Flowise 3.0 `packages/server/src/utils/SSEStreamer.ts`; the flowise client 1.0.4 for Python.
Intended differences: the trajectory of an agentflow, which holds its prompts, is left out; calls that a later
list repeats are passed on once.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "flowise",
    ".decode:FlowiseDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("start", "token", "thinking", "sourceDocuments", "artifacts", "fileAnnotations", "tool"),
            *("usedTools", "calledTools", "agentReasoning", "nextAgent", "agentFlowEvent"),
            *("nextAgentFlow", "agentFlowExecutedData", "action", "metadata", "usageMetadata"),
            *("error", "abort", "end"),
        ),
        keys=("chatMessageId",),
    ),
    sample_request={"question": "Hello", "streaming": True},
    request_writer=".request:WRITER",
)
