"""What one request may take.

Source: the configuration contract (`server`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RequestLimits"]


@dataclass(slots=True)
class RequestLimits:
    """Shared by all connections; a change holds from the next request on.

    Attributes:
        header_bytes: request line and headers, and what else comes without being body: extensions of chunks,
            trailers.
        header_time: seconds from the first byte to the end of the headers.
    """

    header_bytes: int
    header_time: float
