"""Removes secrets and internals from texts before they are sent to clients or written to logs."""

from streamweir.redaction.budget import RedactionBudget
from streamweir.redaction.redact import (
    DETAIL_LIMIT,
    REDACTED,
    SCAN_LIMIT,
    hide_credentials,
    redact,
    redact_id,
    redact_value,
)
from streamweir.redaction.secret_names import is_secret_name

__all__ = [
    "DETAIL_LIMIT",
    "REDACTED",
    "SCAN_LIMIT",
    "RedactionBudget",
    "hide_credentials",
    "is_secret_name",
    "redact",
    "redact_id",
    "redact_value",
]
