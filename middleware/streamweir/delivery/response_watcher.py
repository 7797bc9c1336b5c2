"""The interface of a watcher of a response, which learns what a delivery sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from streamweir.http.headers import Headers

__all__ = ["ResponseWatcher"]


class ResponseWatcher(Protocol):
    """Watches one response. The methods must not raise."""

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the status and the headers, which are about to be sent."""

    @property
    def written(self) -> Callable[[bytes], object]:
        """The function that notes a piece of the body, which is about to be sent; it is not empty."""

    def heartbeat(self, data: bytes) -> None:
        """Note a heartbeat, which belongs to no other piece of the body."""
