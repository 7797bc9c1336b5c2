"""Writes responses to faulty requests that never reach the application.

Source: the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

from typing import Final

from streamweir.http.refusals import envelope
from streamweir.jsontext import write_json
from streamweir.refusal_codes import REFUSALS
from streamweir.request_id import new_request_id
from streamweir_gateway.connection.response_encoder import status_line
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord

__all__ = ["refusal"]

_HEADERS: Final = (
    b"content-type: application/json\r\nconnection: close\r\ncache-control: no-store\r\n"
    b"x-content-type-options: nosniff\r\n"
)
_RETRY_AFTER: Final = b"retry-after: 1\r\n"


def refusal(code: str, observer: Observer, client: str | None, headers: bytes = b"") -> bytes:
    """Return the whole response that refuses a request.

    Args:
        code: one of `REFUSALS`.
        observer: gets the record.
        client: the address of the client, for the log; None if it is unknown.
        headers: additional header lines, with their line ends.
    """
    row = REFUSALS[code]
    request_id = new_request_id()
    body = write_json(envelope(code, row.message, retry=row.retry, request_id=request_id))
    record = RequestRecord(request_id, None, None)
    record.refused(code, client)
    record.bytes_out = len(body)
    observer.ended(record)
    return b"".join(
        (
            status_line(row.status),
            _HEADERS,
            headers,
            _RETRY_AFTER if code == "OVERLOADED" else b"",
            b"x-request-id: %s\r\ncontent-length: %d\r\n\r\n" % (request_id.encode("ascii"), len(body)),
            body,
        )
    )
