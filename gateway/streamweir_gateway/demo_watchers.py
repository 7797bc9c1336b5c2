"""Reports the bytes that demo backends send, by request, to callers in the same process.

A demo backend is a server of the gateway itself, with scripted frames. Other backends are not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["DemoWatchers", "Seen"]

Seen: TypeAlias = Callable[[bytes], None]


class DemoWatchers:
    """The callbacks of watched requests, by request id (`X-Request-Id`)."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    @contextmanager
    def watching(self, request_id: str, seen: Seen) -> Iterator[None]:
        """Call `seen` with the bytes that demos send to the request `request_id`, within this block."""
        self._seen[request_id] = seen
        try:
            yield
        finally:
            del self._seen[request_id]

    def report(self, request_id: str, data: bytes) -> None:
        """Report bytes that a demo is about to send to a request."""
        seen = self._seen.get(request_id)
        if seen is not None:
            seen(data)
