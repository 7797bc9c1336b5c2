"""Lines and refusals, and how a client of the standard protocol reads them: `tests/vectors/`."""

import json
from typing import Any

from streamweir import parse_stream_line
from streamweir.client.rejections import info_of_rejection, request_id_in

__all__ = ["line_vectors", "rejection_vectors"]

LINES = (
    '{"type":"content","data":{}}',
    'data: {"a":1}',
    'data:{"a":1}',
    '  data:   {"a": [1, null, "x"]}  ',
    "﻿" + '{"a":1}',
    "﻿" + 'data: {"a":1}',
    '{"a":1}\r',
    '{"a":1}\n',
    "",
    "   ",
    ": comment",
    "event: done",
    "id: 7",
    "retry: 10",
    "data: [DONE]",
    "data:",
    "data: null",
    "data: 1",
    'data: "text"',
    "[1]",
    '[{"a":1}]',
    "{",
    '{"a":',
    "{'a':1}",
    '{"a":1} trailing',
    '{"a":1}{"b":2}',
    '{"a":"\\ud83d\\ude00"}',
    '{"a":1e3,"b":-0.5,"c":true}',
    '{"__proto__":{"x":1},"a":1}',
    "{}",
    'date: {"a":1}',
)


def line_vectors() -> list[Any]:
    """Return lines, each with the object that `parse_stream_line` gives."""
    return [[line, parse_stream_line(line)] for line in LINES]


def _envelope(code: str, message: str, *, request_id: str | None = "req_9", **error: Any) -> str:
    body = {"status": "error", "error": {"code": code, "message": message, **error}}
    return json.dumps(body if request_id is None else {**body, "request_id": request_id})


REJECTIONS: tuple[tuple[int, dict[str, str], str], ...] = (
    *((status, {}, "") for status in (400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 418, 422, 429)),
    *((status, {}, "") for status in (500, 501, 502, 503, 504, 599)),
    *((status, {}, "") for status in (203, 205, 206, 300, 301, 304)),
    (429, {"retry-after": "7"}, ""),
    (503, {"retry-after": "0"}, "<html>busy</html>"),
    (500, {"retry-after": "7"}, ""),
    (429, {"retry-after": "soon"}, ""),
    (404, {}, _envelope("ENDPOINT_NOT_FOUND", "There is nothing at this address.", retry=False)),
    (503, {"retry-after": "3"}, _envelope("OVERLOADED", "The service is busy.", retry=True)),
    (429, {}, _envelope("RATE_LIMITED", "Wait a little.", retry=True, retry_after_ms=1500)),
    (400, {}, _envelope("BAD_REQUEST", "messages[2].role must be a text.", retry=False)),
    (401, {}, _envelope("UNAUTHENTICATED", "A valid key is required.", retry=False)),
    (410, {}, _envelope("RUN_GONE", "This run can no longer be resumed.", retry=False)),
    (500, {}, _envelope("INTERNAL", "An internal error occurred. Please try again.", request_id=None)),
    (502, {}, _envelope("UPSTREAM_UNREACHABLE", "The service could not be reached. Please try again.")),
    (504, {}, _envelope("UPSTREAM_TIMEOUT", "The service took too long to answer. Please try again.")),
    (400, {}, _envelope("NO_SUCH_TABLE", "There is no such table.", retry=False)),
    (409, {}, _envelope("TABLE_LOCKED", "The table is locked.", retry=True)),
    (200, {}, _envelope("LLM_RATE_LIMIT", "The model is busy.", retry=True)),
    (422, {}, '{"status": "error"'),
    (422, {}, '{"status": "error", "error": "text"}'),
    (422, {}, "[]"),
)


def rejection_vectors() -> list[dict[str, Any]]:
    """Return answers that are refusals, each with the error that the client makes of it."""
    return [
        {"status": status, "headers": headers, "body": body, "error": _error(status, headers, body)}
        for status, headers, body in REJECTIONS
    ]


def _error(status: int, headers: dict[str, str], body: str) -> dict[str, Any]:
    info = info_of_rejection(status, retry_after=headers.get("retry-after"), body=body.encode())
    return {
        "kind": "request_rejected",
        "code": info.code,
        "errorType": info.error_type,
        "message": info.message,
        "recoverable": info.recoverable,
        "retryAfterMs": info.retry_after_ms,
        "reason": info.reason,
        "status": status,
        "requestId": request_id_in(body.encode()),
    }
