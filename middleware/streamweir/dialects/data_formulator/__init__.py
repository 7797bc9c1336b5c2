"""Data Formulator's streams: agent runs, loading chat, report, recommended questions, and its JSON envelope.

Source: microsoft/data-formulator 0.7.0 and 0.8.0b1 (its streaming protocol document describes 0.7 and is
incomplete, so the servers' code is followed), with leftovers of 0.5 and 0.6.
Intended differences: an error is classified by its own code, else by whole words, never by bare digits in its
text; a failure that the server sends as ordinary text is an error; a run that was handed over is suspended.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "data-formulator",
    ".decode:DataFormulatorDecoder",
    ".encode:DataFormulatorEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("context_info", "interact", "clarify", "explain", "completion", "delegate", "done"),
            *("tool_start", "tool_result", "error", "warning", "result", "data_operation_result"),
            *("thinking_text", "question", "progress", "skill_loaded", "continue_prompt", "text_delta"),
            *("actions", "action"),
        ),
        keys=("status", "goal"),
    ),
    sample_request={"user_question": "Which region grows?", "input_tables": [], "model": {}},
)
