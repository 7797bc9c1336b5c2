"""LangServe: `/stream` of any runnable, `/stream_events`, `/stream_log` and whole answers of `/invoke`.

Source: langserve 0.3.3 (`api_handler.py`), langchain-core 1.7 (`tracers/log_stream.py`); recorded streams.
Intended differences: a log and events repeat the output of the runs inside a run; repetitions are left out.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "langserve",
    ".decode:LangserveDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(names=("metadata", "data", "error"), keys=("output",)),
    sample_request={"input": "Which region grows?"},
    request_writer=".request:WRITER",
)
