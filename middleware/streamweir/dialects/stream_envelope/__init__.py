"""The event envelope of LangGraph chat apps, and the flat forms that came before and beside it.

Source: JoySafeter's SSE protocol (migration document and server, February 2026): the envelope with `type`,
`thread_id`, `run_id`, `node_name`, `data`; the flat form before it; the flat form of its copilot; the
`start` ... `complete` form of its agent service. One stream may mix them.
Intended differences: shape decides, not the presence of `run_id`; a stop by the user is `cancelled`, not an
error; calls are paired by `run_id`; success and failure come from `status`, never from words in an output.
"""

from streamweir.codec.dialect import Dialect

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "stream-envelope",
    ".decode:EnvelopeDecoder",
    ".encode:EnvelopeEncoder",
    summary=__doc__,
    package=__name__,
)
