"""Ollama's chat and generate endpoints.

Source: ollama/ollama `docs/api.md` and `api/types.go`, to 0.12.
Intended differences: the client runs calls, as in Ollama; a call without an id gets an id.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "ollama",
    ".decode:OllamaDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("done",)),
    sample_request={"model": "default", "messages": [{"role": "user", "content": "Hello"}], "stream": True},
    request_writer=".request:WRITER",
    turn_collector=".turn:OllamaTurn",
)
