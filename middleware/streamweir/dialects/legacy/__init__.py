"""The old vocabulary: `token`, `tool_call`, `tool_result`, `final_answer`, `dataframe_data`, `done`, `error`.

Source: the standard protocol 1.1, section 7; field names and their aliases as found in three producers. The
shape of an event decides, not its name: an event with `data` and `metadata` objects is a standard event, even
in the middle of an old stream. Intended leniency: the SSE event name may be the type, fields may be nested
under `data`, and a text event may be bare text.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "legacy",
    ".decode:LegacyDecoder",
    ".encode:LegacyEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("token", "content", "thinking", "final_answer"),
            *("tool_call", "tool_result", "dataframe_data", "done", "error"),
        )
    ),
)
