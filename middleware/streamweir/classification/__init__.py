"""What went wrong, in the vocabulary of `errors.CODES`: a status, an upstream's error event or an exception.

Types and HTTP statuses are believed first, an upstream's own codes next and the words of a message last, and
those only as whole words in a context that leaves no doubt: "the table has 4291 rows" is no 429.

Source: the standard protocol 1.1, section 5.
"""

from streamweir.classification.bodies import FailureInBody, error_in_body, failure_in_body
from streamweir.classification.exceptions import classify_break, classify_exception
from streamweir.classification.failures import Classified, classify_failure
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
    "parse_retry_after",
]
