"""The interface of a listener to requests that have ended, in addition to the log and the metrics."""

from __future__ import annotations

from typing import Protocol

from streamweir_gateway.observability.record import RequestRecord

__all__ = ["RequestWatcher"]


class RequestWatcher(Protocol):
    """Gets each request that has ended, and each failed attempt."""

    def ended(self, record: RequestRecord) -> None:
        """Take the record of a request that has ended. It is called once for each request."""

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Note a failed attempt at the upstream with this label."""
