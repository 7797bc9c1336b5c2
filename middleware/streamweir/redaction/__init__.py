"""What is taken out of a text before anybody outside reads it."""

from streamweir.redaction.redact import (
    REDACTED,
    SCAN_LIMIT,
    hide_credentials,
    is_secret_name,
    redact,
    redact_value,
)

__all__ = ["REDACTED", "SCAN_LIMIT", "hide_credentials", "is_secret_name", "redact", "redact_value"]
