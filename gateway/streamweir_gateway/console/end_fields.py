"""The fields of the line `end` of a capture.

Source: the contract of capture files, section 1.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from streamweir_gateway.observability.record import RequestRecord

__all__ = ["end_fields", "facts_at_end"]

_STATUS_OF_REASON: Final = {
    "done": "completed",
    "interaction": "suspended",
    "cancelled": "cancelled",
    "client_gone": "cancelled",
    "slow_client": "cancelled",
}


facts_at_end: Final[Callable[[RequestRecord], tuple[Any, ...]]] = attrgetter(
    *("reason", "code", "events", "bytes_in", "bytes_out", "client_left", "lost")
)
"""Returns the arguments of `end_fields`, from the record of a request that has ended."""


def end_fields(
    reason: str | None,
    code: str | None,
    events: int | None,
    bytes_in: int | None,
    bytes_out: int | None,
    client_left: bool | None,
    lost: int | None,
) -> dict[str, Any]:
    """Return the fields of the line `end` of a capture; the arguments are those of the `RequestRecord`."""
    status = "error" if code is not None else _STATUS_OF_REASON.get(reason or "", "error")
    has_left = reason in ("client_gone", "slow_client") or bool(client_left)
    return {
        "reason": reason,
        "status": status,
        "code": code,
        "events": events,
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "client": "gone" if has_left else "read",
        "lost": lost,
    }
