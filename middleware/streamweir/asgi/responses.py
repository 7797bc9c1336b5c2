"""Starlette responses: a stream of one's own, and a failure before there is one.

Source: the library contract, sections 2 and 3.
"""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from streamweir.asgi.refusals import Refusal, refusal_parts
from streamweir.errors import ErrorInfo
from streamweir.jsontext import write_json
from streamweir.preflight import preflight_envelope

__all__ = ["preflight_error", "refusal_response"]


def preflight_error(
    error: BaseException | ErrorInfo | str,
    *,
    status_code: int | None = None,
    request_id: str | None = None,
    debug: bool = False,
) -> JSONResponse:
    """Return the response that tells of a failure in place of a stream.

    Args:
        error: an exception, a classified failure, or a code.
        status_code: in the place of the failure's own.
        request_id: of the request; the current one if None.
        debug: add the redacted details.

    Raises:
        ValueError: `error` is text, but no code.
    """
    status, body = preflight_envelope(error, request_id=request_id, debug=debug)
    headers = {"Cache-Control": "no-store", "X-Request-Id": body["request_id"]}
    if isinstance(error, ErrorInfo) and error.retry_after_ms is not None:
        headers["Retry-After"] = str(-(-error.retry_after_ms // 1000))
    return _JSON(body, status_code=status_code or status, headers=headers)


def refusal_response(refusal: Refusal, *, request_id: str) -> Response:
    """Return the response to a refused request."""
    status, body, headers = refusal_parts(refusal, request_id=request_id)
    return _JSON(body, status_code=status, headers=headers)


class _JSON(JSONResponse):
    def render(self, content: object) -> bytes:
        return write_json(content)
