"""The interface of a listener to finished requests, beside the log and the metrics."""

from __future__ import annotations

from typing import Protocol

from streamweir_gateway.observability.record import RequestRecord

__all__ = ["RequestWatcher"]


class RequestWatcher(Protocol):
    """Hears of each request that ended, and of each failed attempt."""

    def ended(self, record: RequestRecord) -> None:
        """Take the record of a request that is over; called once for each."""
        ...

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Take note that an attempt at the upstream with this label failed."""
        ...
