"""The headers of a response that is a stream, for every host.

Source: the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from typing import Final

from streamweir.framing import MEDIA_TYPES

__all__ = ["NOT_STORED", "NO_SNIFFING", "STREAM_CACHING", "STREAM_HEADERS", "VARIES", "response_headers"]

STREAM_CACHING: Final = (b"cache-control", b"no-cache, no-transform")
"""The cache control of streams."""

STREAM_HEADERS: Final = {
    "Cache-Control": STREAM_CACHING[1].decode(),
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",  # keeps compressing middleware and proxies from the stream
}

NOT_STORED: Final = (b"cache-control", b"no-cache, no-store, no-transform")
"""The cache control of streams below the path of runs."""

VARIES: Final = (b"vary", b"Accept, Authorization, Last-Event-ID, X-Api-Key, X-Streamweir-Protocol")
"""The request headers on which answers below the path of runs depend."""

NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}
"""The header that keeps browsers from rendering an answer as a page."""


def response_headers(media_type: str, request_id: str) -> dict[str, str]:
    """Return the headers of a stream, or of a folded result, with this content type."""
    kept = {"Cache-Control": "no-store"} if media_type == MEDIA_TYPES["json"] else STREAM_HEADERS
    return {"Content-Type": media_type, **kept, **NO_SNIFFING, "X-Request-Id": request_id}
