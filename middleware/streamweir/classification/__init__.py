"""Finds the code of `errors.CODES` for a failure, given a status, an upstream's error event or an
exception.

The type of an exception and the HTTP status decide first, then the upstream's own code, and last the words of
the message. Words count only as whole words in a clear context: "the table has 4291 rows" is not a 429.

Source: the standard protocol 1.1, section 5.
"""

from streamweir.classification.bodies import FailureInBody, error_in_body, failure_in_body
from streamweir.classification.exceptions import classify_break, classify_exception
from streamweir.classification.failures import Classified, classify_failure
from streamweir.classification.overload import is_overload
from streamweir.classification.statuses import info_for_status, parse_retry_after

__all__ = [
    "Classified",
    "FailureInBody",
    "classify_break",
    "classify_exception",
    "classify_failure",
    "error_in_body",
    "failure_in_body",
    "info_for_status",
    "is_overload",
    "parse_retry_after",
]
