"""Gemini's streamGenerateContent and generateContent, on AI Studio and on Vertex.

Source: the Gemini API (v1beta), `GenerateContentResponse`; google-genai 1.5 (`_api_client.py`, `types.py`).
Intended differences: the client has to run functions; code that the server has run is a call with a result.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "gemini",
    ".decode:GeminiDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        keys=("candidates", "promptFeedback", "usageMetadata", "prompt_feedback", "usage_metadata", "error"),
        starts=(b"[",),
    ),
    sample_request={"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    request_writer=".request:WRITER",
    turn_collector=".turn:GeminiTurn",
)
