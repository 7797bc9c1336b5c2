"""Makes the response for a client of the upstream's own dialect if the upstream answers with an error status.

Source: the standard protocol 1.1, section 8 (the table of failures, first row).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from streamweir.errors import ErrorInfo
from streamweir.events import Error
from streamweir.failures.safe_body import safe_body
from streamweir.failures.whole_response import WholeResponse
from streamweir.http.headers import HeaderList, Headers
from streamweir.http_grammar import WRITABLE_VALUE
from streamweir.redaction import redact

__all__ = ["UpstreamRefusal", "refusal_response", "writable_value"]

_RETRY_AFTER: Final = re.compile(rb"\d{1,10}(?:\.\d{1,3})?|[A-Z][a-z]{2,8}, ?[\w :+-]{10,40}")
"""Matches seconds, or a date. Source: RFC 9110, section 10.2.3."""
_PARAMETER: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s,="]+)')
"""Matches the name or the value of a parameter in a challenge."""
_REFUSED_CREDENTIALS: Final = frozenset({401, 403})
_BAD_GATEWAY: Final = 502


class UpstreamRefusal(NamedTuple):
    """A response of an upstream with an error status."""

    status: int
    """The status, from 400 to 599."""
    headers: HeaderList
    """All headers, as the upstream sent them."""
    body: bytes | None
    """The decoded body; None if it is too long, did not end in time, broke off or cannot be decoded."""
    error: Error | None = None
    """The error event that the body contains in the upstream's dialect; None if the body is anything else."""
    is_ours: bool = False
    """The upstream refused credentials of the gateway, so the status has no meaning for the client."""


def refusal_response(
    refusal: UpstreamRefusal, info: ErrorInfo, *, request_id: str, others: HeaderList = ()
) -> WholeResponse:
    """Return the response to a client of the upstream's own dialect: status, some headers, the safe body.

    Args:
        refusal: the refusal of the upstream.
        info: the classified failure; its message replaces the texts of the body.
        request_id: the id of the request.
        others: further headers of the upstream that the client gets.
    """
    is_ours = refusal.is_ours and refusal.status in _REFUSED_CREDENTIALS
    given = writable_value(refusal.headers, b"content-type")
    body = safe_body(refusal.body, given, code=info.code, error=refusal.error)
    headers: Headers = [
        *((b"content-type", value) for value in (given or body.media_type,) if value),
        *_kept_headers(refusal.headers, keeps_challenge=not is_ours),
        (b"cache-control", b"no-store"),
        (b"x-request-id", request_id.encode("latin-1")),
        (b"content-length", b"%d" % len(body.data)),
    ]
    names = {name for name, _ in headers}
    status = _BAD_GATEWAY if is_ours else refusal.status
    return WholeResponse(status, [*headers, *(pair for pair in others if pair[0] not in names)], body.data)


def writable_value(headers: HeaderList, name: bytes) -> bytes:
    """Return the first value of a header; empty if it is absent or holds control characters."""
    for key, value in headers:
        if key.lower() == name:
            given = value.strip()
            return given if WRITABLE_VALUE.fullmatch(given) else b""
    return b""


def _kept_headers(headers: HeaderList, *, keeps_challenge: bool) -> Headers:
    """Return the headers about the time and the credentials of another attempt."""
    kept: Headers = []
    for name, value in headers:
        match name.lower():
            case b"retry-after" if _RETRY_AFTER.fullmatch(value.strip()):
                kept.append((b"retry-after", value.strip()))
            case b"www-authenticate" if keeps_challenge and WRITABLE_VALUE.fullmatch(value):
                kept.append((b"www-authenticate", _safe_challenge(value)))
    return kept


def _safe_challenge(value: bytes) -> bytes:
    """Return a challenge; if its parameters contain a secret or an internal address, only its scheme."""
    scheme, _, parameters = value.strip().decode("latin-1").partition(" ")
    values = (match[1] or match[2] for match in _PARAMETER.finditer(parameters))
    is_safe = all(redact(text, limit=len(text) + 1) == text for text in values if text)
    return value if is_safe else scheme.encode("latin-1")
