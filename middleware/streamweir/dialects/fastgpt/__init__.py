"""FastGPT's chat completions with `detail`: OpenAI's chunks under event names, and the steps around them.

Source: labring/FastGPT 4.9 `packages/service/common/response/index.ts`,
`packages/global/core/workflow/runtime/constants.ts`, `projects/app/src/pages/api/v1/chat/completions.ts`.
Intended differences: the server has run the tools; without `detail` the stream is OpenAI's and is read in
that dialect, unless this dialect is named.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "fastgpt",
    ".decode:FastGPTDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("answer", "fastAnswer", "flowNodeStatus", "flowNodeResponse", "flowResponses", "toolCall"),
            *("toolParams", "toolResponse", "interactive", "updateVariables", "workflowDuration", "plan"),
        ),
        keys=("responseData",),
    ),
    sample_request={
        "chatId": "c1",
        "stream": True,
        "detail": True,
        "messages": [{"role": "user", "content": "Hello"}],
    },
    request_writer=".request:WRITER",
)
