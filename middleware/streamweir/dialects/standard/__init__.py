"""The standard agent-event protocol 1.1, and 1.0 when reading.

Source: the standard protocol 1.1, sections 1, 2 and 4.
Intended differences: faulty streams are repaired, not refused. Ids, sequence and timestamps are replaced; a
value of a wrong type is converted or kept under `extra`; unknown types become `custom`. A 1.0 error has no
`terminal`: a 1.0 error that is not recoverable ends the run.
"""

from streamweir.codec.dialect import Dialect
from streamweir.codec.hints import Hints
from streamweir.events import EVENT_TYPES

__all__ = ["DIALECT"]

DIALECT = Dialect(
    "standard",
    ".decode:StandardDecoder",
    ".encode:StandardEncoder",
    request_reader=".request:READER",
    request_writer=".request:WRITER",
    summary=__doc__,
    package=__name__,
    hints=Hints(names=EVENT_TYPES, keys=("message",)),
)
