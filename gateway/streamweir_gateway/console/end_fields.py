"""The fields of the line `end` of a capture.

Source: the contract of capture files, section 1.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir_gateway.observability.record import RequestRecord

__all__ = ["end_fields"]

_STATUS_OF_REASON: Final = {
    "done": "completed",
    "interaction": "suspended",
    "cancelled": "cancelled",
    "client_gone": "cancelled",
    "slow_client": "cancelled",
}


def end_fields(record: RequestRecord) -> dict[str, Any]:
    """Return the fields of the line `end` of a capture."""
    status = "error" if record.code is not None else _STATUS_OF_REASON.get(record.reason or "", "error")
    has_left = record.reason in ("client_gone", "slow_client") or bool(record.client_left)
    return {
        "reason": record.reason,
        "status": status,
        "code": record.code,
        "events": record.events,
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "client": "gone" if has_left else "read",
        "lost": record.lost,
    }
