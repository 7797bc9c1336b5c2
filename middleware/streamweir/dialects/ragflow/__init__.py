"""RAGFlow: the events of agents, chat answers in an envelope, and OpenAI-shaped answers.

Source: infiniflow/ragflow, Python server 0.17 to 0.27 and the Go server; each module names its files.
Intended differences: each frame shows its family; the route and the version are ignored.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "ragflow",
    ".decode:RagflowDecoder",
    ".encode:RagflowEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("event", "code", "choices", "session_id")),
    sample_request={"question": "Which region grows?", "stream": True},
)
