"""EasyFlow chat, and AIFlowy, whose protocol it is under another name.

Source: the EasyFlow chat protocol specification 1.1; AIFlowy 2.x as its servers really write it (June 2026):
upper-case domains and types, camelCase keys, the conversation in the payload, `event:needSaveMessage`.
Intended differences: keys and words are read in upper and lower case; if `domain` or `type` is missing, the
SSE event name replaces it; `content` after `delta`s is a repetition; `index` is ignored; `system/error` ends
the run under any event name, other errors only under `event: error`.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "easyflow",
    ".decode:EasyflowDecoder",
    ".encode:EasyflowEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(names=("needSaveMessage",), keys=("protocol", "domain", "errorCode")),
    sample_request={"prompt": "Which region grows?"},
)
