"""The body of a response that only reports a failure, in the protocol's own form."""

from __future__ import annotations

from streamweir.codec.base import Encoder
from streamweir.codec.failed_request import FailedRequest
from streamweir.errors import CODES
from streamweir.events import Error
from streamweir.jsontext import write_json

__all__ = ["failure_body"]


def failure_body(encoder: Encoder, error: Error, request_id: str) -> bytes:
    """Return the body that reports `error`; empty if the protocol has no form for it.

    Args:
        encoder: the encoder of the protocol.
        error: the error that the run ended with.
        request_id: the id of the run.
    """
    row = CODES.get(error.code, CODES["UPSTREAM_ERROR"])
    failure = FailedRequest(row.status, error.code, error.message, error.recoverable, request_id)
    body = encoder.failure_body(failure)
    return b"" if body is None else write_json(body) + b"\n"
