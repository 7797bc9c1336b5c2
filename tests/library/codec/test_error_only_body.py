"""A body that is one message which tells of a failure is that failure, whatever dialect was expected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases import for_each
from streams import events_of, one_byte_each, translate
from streamweir import Translator
from streamweir.classification import error_in_body, failure_in_body
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream

SPEAKS = [*process_dialects().readable, "auto"]


def refusal(code: str, *, retry: bool = True, **fields: Any) -> dict[str, Any]:
    return {"status": "error", "error": {"code": code, "message": "No.", "retry": retry, **fields}}


FAILURES: list[tuple[Any, str]] = [
    (refusal("RATE_LIMITED"), "RATE_LIMITED"),
    (refusal("OVERLOADED"), "OVERLOADED"),
    (refusal("UNAUTHENTICATED", retry=False), "UNAUTHENTICATED"),
    (refusal("LLM_RATE_LIMIT"), "LLM_RATE_LIMIT"),
    ({"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}, "RATE_LIMITED"),
    (
        {"error": {"message": "No", "type": "invalid_request_error", "code": "model_not_found"}},
        "MODEL_NOT_FOUND",
    ),
    ({"error": {"message": "No", "type": "invalid_request_error", "code": None}}, "UPSTREAM_REJECTED"),
    ({"message": "The upstream said so"}, "UPSTREAM_ERROR"),
    ({"retcode": 102, "retmsg": "You don't own the assistant"}, "UPSTREAM_ERROR"),
    ({"error": {"code": 429, "message": "Exhausted", "status": "RESOURCE_EXHAUSTED"}}, "RATE_LIMITED"),
    (
        [{"error": {"code": 404, "message": "models/x is not found", "status": "NOT_FOUND"}}],
        "MODEL_NOT_FOUND",
    ),
    ({"type": "error", "error": {"type": "authentication_error", "message": "bad"}}, "AUTH_FAILED"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "UPSTREAM_ERROR"),
    ({"object": "error", "message": "The model `x` does not exist.", "code": 404}, "MODEL_NOT_FOUND"),
    ({"error": "it broke"}, "UPSTREAM_ERROR"),
    ({"error": "Rate limit exceeded"}, "RATE_LIMITED"),
    ({"error": "invalid_client", "error_description": "Unknown client"}, "UPSTREAM_ERROR"),
    ({"errors": [{"message": "boom"}], "data": None}, "UPSTREAM_ERROR"),
    ({"detail": "Not authenticated"}, "AUTH_FAILED"),
    ({"detail": "Not Found"}, "NOT_FOUND"),
    ({"detail": [{"loc": ["body", "q"], "msg": "Field required", "type": "missing"}]}, "UPSTREAM_REJECTED"),
    ({"detail": {"error": {"code": "context_length_exceeded"}}}, "CONTEXT_LENGTH_EXCEEDED"),
    ({"code": 109, "data": False, "message": "Authentication error: API key is invalid!"}, "AUTH_FAILED"),
    ({"code": 500, "msg": "系统异常"}, "UPSTREAM_ERROR"),
    ({"code": 401, "msg": "认证失败", "data": None}, "AUTH_FAILED"),
    ({"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "1"}, "AUTH_FAILED"),
    ({"code": "Throttling.RateQuota", "message": "Rate limit exceeded", "request_id": "1"}, "RATE_LIMITED"),
    ({"errorCode": 1, "message": "bot missing"}, "UPSTREAM_ERROR"),
    ({"success": False, "message": "maximum context length exceeded"}, "CONTEXT_LENGTH_EXCEEDED"),
    ({"success": False}, "UPSTREAM_ERROR"),
    ({"ok": False, "error": "timed out"}, "UPSTREAM_TIMEOUT"),
    ({"status": "error", "message": "no such table"}, "UPSTREAM_ERROR"),
    ({"status": "failed"}, "UPSTREAM_ERROR"),
    ({"timestamp": "2024", "status": 404, "error": "Not Found", "path": "/x"}, "NOT_FOUND"),
    ({"statusCode": 429, "message": "ThrottlerException: Too Many Requests"}, "RATE_LIMITED"),
    ({"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "No."}, "AUTH_FAILED"),
    ({"message": "Unauthorized"}, "AUTH_FAILED"),
    ({"Message": "Internal Server Error", "RequestId": "1"}, "UPSTREAM_ERROR"),
]


KNOWS_IT_BETTER = {
    "ragflow": "code",  # every one but 0
    "auto": "code",  # it may be RAGFlow
    "coze": "code",  # every one but 0
    "fastgpt": "code",  # every one but 200
    "stream-envelope": "error",  # whatever it holds
}
"""The field that is the sign of a failure in one dialect alone."""


def ending(output: bytes) -> tuple[str | None, str]:
    """The code of the terminal error, and the reason of the end."""
    assert check_stream(output, framing="ndjson") == []
    events = events_of(output)
    errors = [event["data"]["code"] for event in events if event["type"] == "error"]
    return errors[-1] if errors else None, events[-1]["data"]["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("speaks", SPEAKS)
@for_each("failure", FAILURES)
def test_failure_in_place_of_a_stream_is_an_error(failure: tuple[Any, str], speaks: str) -> None:
    body, code = failure
    text = json.dumps(body).encode()
    output = translate([text], speaks=speaks)
    assert ending(output) == (code, "upstream_error")
    assert [event["type"] for event in events_of(output)] == ["session_start", "error", "session_end"]
    assert translate(one_byte_each(text), speaks=speaks) == output
    pretty = json.dumps(body, indent=2).encode()
    for same in (
        text + b"\n",
        b"data: " + text + b"\n\n",
        b"data: " + text + b"\n\ndata: [DONE]\n\n",
        pretty,
    ):
        assert ending(translate([same], speaks=speaks)) == (code, "upstream_error"), same


@for_each(
    "body",
    [
        {"type": "greeting", "message": "hello"},
        {"message": "the rate limit of this plan is 5", "answer": "x"},
        {"error": None, "result": "x"},
        {"error": "", "x": 1},
        {"error": False, "x": 1},
        {"code": 1, "msg": "success"},
        {"code": 20000, "message": "OK"},
        {"code": "00000", "msg": "OK"},
        {"success": True, "message": "Not Found"},
        {"status": "running"},
        {"status": 200, "message": "OK"},
        {"detail": "a chart", "title": "Sales", "rows": [[1]]},
        {},
    ],
)
def test_object_without_a_sign_of_failure_is_no_failure(body: dict[str, Any]) -> None:
    assert failure_in_body(body) is None
    for speaks in SPEAKS:
        code, _ = ending(translate([json.dumps(body).encode()], speaks=speaks))
        signs = ("UPSTREAM_ERROR",) if KNOWS_IT_BETTER.get(speaks) in body else ()
        assert code in ("UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE", *signs), speaks


def test_envelope_of_success_is_no_failure_where_codes_are_known() -> None:
    body = b'{"code": 200, "statusText": "", "message": "", "data": {"id": 1}}'
    for speaks in ("fastgpt", "google-adk", "standard"):
        assert ending(translate([body], speaks=speaks))[0] != "UPSTREAM_ERROR"


@pytest.mark.parametrize("framing", ["{}\n", "data: {}\n\n"])
def test_failure_object_before_other_events_is_an_unknown_event(framing: str) -> None:
    messages = (
        {"detail": "Not Found"},
        {"type": "content", "data": {"content": "Hi"}},
        {"type": "session_end"},
    )
    body = "".join(framing.replace("{}", json.dumps(message)) for message in messages).encode()
    for pieces in ([body], one_byte_each(body)):
        output = translate(pieces, speaks="standard")
        assert ending(output) == (None, "done")
        assert [event["type"] for event in events_of(output)][:3] == ["session_start", "data", "content"]
        assert events_of(output)[1]["data"]["data"] == {"name": "message", "value": messages[0]}


def test_upstream_that_breaks_off_behind_its_error_keeps_the_error() -> None:
    for reason in ("UPSTREAM_UNREACHABLE", "UPSTREAM_TRUNCATED", "UPSTREAM_TIMEOUT"):
        translator = Translator(speaks="easyflow", framing="ndjson")
        output = translator.feed(b'{"error": "Rate limit exceeded"}\n') + translator.fail(reason)
        assert ending(output) == ("RATE_LIMITED", "upstream_error")
    translator = Translator(speaks="easyflow", framing="ndjson")
    output = translator.feed(b'{"error": "Rate limit exceeded"}\n') + translator.fail("GATEWAY_DRAINING")
    assert ending(output) == ("GATEWAY_DRAINING", "draining")


@pytest.mark.parametrize("speaks", SPEAKS)
def test_failure_object_has_its_texts_withheld(speaks: str) -> None:
    secret = "column salary_2024 of hr.payroll"
    for body in ({"detail": secret}, {"error": {"message": secret, "code": "x"}}, {"code": 7, "msg": secret}):
        text = json.dumps(body).encode()
        assert secret.encode() not in translate([text], speaks=speaks)
        told = translate([text], speaks=speaks, debug=True)
        assert secret.encode() in told, "a debugging endpoint tells them"


@pytest.mark.parametrize("speaks", SPEAKS)
def test_failure_object_keeps_its_retry_after(speaks: str) -> None:
    for body in (
        refusal("RATE_LIMITED", retry_after_ms=1500),
        {"error": "Rate limit exceeded", "retry_after": 1.5},
    ):
        error = events_of(translate([json.dumps(body).encode()], speaks=speaks))[-2]["data"]
        assert (error["code"], error["recoverable"]) == ("RATE_LIMITED", True)
        if speaks in ("standard", "easyflow", "auto") or "retry_after" in body:
            assert error["retry_after_ms"] == 1500
    refused = events_of(translate([json.dumps(refusal("BUSY_NOW", retry=False)).encode()], speaks=speaks))
    assert refused[-2]["data"]["recoverable"] is False


def test_error_in_body_finds_message_and_code() -> None:
    assert error_in_body({"error": {"message": "m", "type": "odd"}}) == ("m", "odd")
    assert error_in_body({"detail": "Not Found"}) == ("Not Found", None)
    assert error_in_body({"message": "m", "code": 7}) == ("m", 7)
    assert error_in_body({"error": "broken"}) == ("broken", "broken")
    assert error_in_body("text") == error_in_body(None) == error_in_body([]) == (None, None)


@pytest.mark.parametrize(
    "value",
    [
        {"error": {"error": {"error": {"error": {"error": "deep"}}}}},
        {"error": [[[]]]},
        {"detail": [None], "errors": [1, {}]},
        {"code": 10**4000, "message": "m"},
        {"code": "9" * 10_000, "message": "m"},
        {"code": 1e400, "status": float("nan"), "message": ["m"]},
        {"": "", "error": "x" * 100_000},
        {str(number): number for number in range(1000)} | {"error": "x"},
    ],
    ids=lambda value: str(value)[:30],
)
def test_anything_is_taken(value: object) -> None:
    failure_in_body(value)
    error_in_body(value)
