"""Dify's chat, agent, chatflow, workflow and completion apps.

Source: langgenius/dify `api/core/app/entities/task_entities.py`, `apps/base_app_generator.py` and
`apps/common/workflow_response_converter.py`, to 1.11.
Intended differences: text of the answer that an agent's thought repeats is not sent twice; the prompts and
inputs of nodes are not passed on.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "dify",
    ".decode:DifyDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("conversation_id", "workflow_run_id", "answer", "task_id")),
    sample_request={"inputs": {}, "query": "Hello", "user": "streamweir", "response_mode": "streaming"},
    request_writer=".request:WRITER",
)
