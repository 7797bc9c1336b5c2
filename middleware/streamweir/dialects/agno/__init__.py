"""Agno: runs of agents, teams and workflows, from AgentOS and from the playground before it.

Source: agno 3.1.10, 2.0.0, 1.8.1, 1.4.0 and 1.1.0 (`run/agent.py`, `run/team.py`, `run/workflow.py`,
`os/routers`, `playground`); its own recorded streams.
Intended differences: a failed call is reported twice by the server and ends once here; the text of a team's
member has a separate channel; a workflow fails if its last step has failed, even if its end says that it is
completed.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints
from streamweir.dialects.agno.shared_names import EVENTS

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "agno",
    ".decode:AgnoDecoder",
    summary=__doc__,
    package=__name__,
    hints=Hints(names=EVENTS, keys=("agent_id", "team_id", "workflow_id")),
    sample_request={"message": "Which region grows?", "stream": True, "session_id": "s1"},
    request_writer=".request:WRITER",
)
