"""Google's Agent Development Kit: the events of a run, streamed or as one array.

Source: google-adk 2.13 (`cli/adk_web_server.py`, `events/event.py`, `flows/llm_flows/`); its own recorded
streams.
Intended differences: the whole text after its pieces is a repetition; two frames of a failure are one error.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "google-adk",
    ".decode:GoogleAdkDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(keys=("invocationId", "error_details"), starts=(b"[",)),
    sample_request={
        "appName": "shop",
        "userId": "user",
        "sessionId": "s1",
        "newMessage": {"role": "user", "parts": [{"text": "Which region grows?"}]},
    },
    request_writer=".request:WRITER",
)
