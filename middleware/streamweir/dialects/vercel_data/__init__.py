"""The data stream of AI SDK 4, and assistant-stream's form of it: a code, a colon and JSON on each line.

Source: vercel/ai, `@ai-sdk/ui-utils` 1.2.11 and `ai` 4.3.19 (data stream protocol v1); assistant-stream
0.0.36.
Intended differences: an unknown code is kept, although the SDK fails on it; a body without a `d` line is
complete if no step is open, because assistant-stream writes no such line.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

_STRINGS = "03g"
_LISTS = "28"
_OBJECTS = "9abcdefhijk"

DIALECT = Dialect(
    "vercel-data",
    ".decode:VercelDataDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        starts=(
            *(f'{code}:"'.encode() for code in _STRINGS),
            *(f"{code}:[".encode() for code in _LISTS),
            *(f"{code}:{{".encode() for code in _OBJECTS),
            b"aui-",
        )
    ),
    sample_request={"id": "chat_1", "messages": [{"role": "user", "content": "Hello"}]},
    request_writer=".request:WRITER",
)
