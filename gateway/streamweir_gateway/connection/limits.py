"""The limits that apply to each request.

Source: the configuration contract (`server`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RequestLimits"]


@dataclass(slots=True)
class RequestLimits:
    """The limits of a request, shared by all connections. A change applies from the next request on.

    Attributes:
        header_bytes: the most bytes of the request line and headers, extensions of chunks, and trailers.
        header_time: the most seconds from the first byte to the end of the headers.
    """

    header_bytes: int
    header_time: float
