"""LlamaIndex's workflow server.

Source: llama-agents-server 0.8 and llama-index-workflows 2.26 as recorded; llama-index-core 0.14
(`agent/workflow/workflow_events.py`).
Intended differences: an application's own event with a `delta` is text; agents' inputs are not passed on.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "llama-workflows",
    ".decode:LlamaWorkflowsDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("qualified_name",)),
    sample_request={"start_event": {"message": "Hello"}},
    request_writer=".request:WRITER",
)
