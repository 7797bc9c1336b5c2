"""The event envelope of LangGraph chat apps, and the flat forms that came before and beside it.

Source: JoySafeter's SSE protocol (migration document and server, February 2026): the envelope with `type`,
`thread_id`, `run_id`, `node_name`, `data`; the flat form before it; the flat form of its copilot; the `start`
... `complete` form of its agent service. One stream may mix them.
Intended differences: the shape of a message decides, not the presence of `run_id`; a stop by the user is
`cancelled`, not an error; calls are paired by `run_id`; success and failure come from `status`, never from
words in an output.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints
from streamweir.dialects.stream_envelope.shared_vocabulary import TRACE

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "stream-envelope",
    ".decode:EnvelopeDecoder",
    ".encode:EnvelopeEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(
        names=(
            *("thread_id", "tool_start", "tool_end", "tool_call", "tool_result", "node_start", "node_end"),
            *("thought_step", "result", "start", "task_created", "chunk", "intermediate", "complete"),
            *("model_input", "model_output", "status", "route_decision", "loop_iteration", "parallel_task"),
            *("command", "state_update", "interrupt"),
            *("code_agent_thought", "code_agent_planning", "code_agent_code", "code_agent_observation"),
            *("code_agent_final_answer", "code_agent_error"),
        ),
        keys=("thread_id", "run_id", "stopped", *TRACE),
    ),
)
