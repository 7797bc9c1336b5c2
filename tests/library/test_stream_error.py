"""Failures on purpose, and the envelope of a failure before there is a stream."""

from typing import Any

import pytest

from streamweir import StreamError, classify_exception, preflight_envelope, valid_request_id
from streamweir.context import bound_request_id
from streamweir.errors import CODES, error_info
from streamweir.refusal_codes import REFUSALS


@pytest.mark.parametrize("code", sorted(CODES))
def test_code_of_the_protocol_has_its_row(code: str) -> None:
    assert StreamError(code).info == error_info(code)


@pytest.mark.parametrize("code", sorted(REFUSALS.keys() - CODES.keys()))
def test_code_of_a_refusal_has_its_status(code: str) -> None:
    info = StreamError(code).info
    row = REFUSALS[code]
    assert (info.status, info.recoverable, info.message) == (row.status, row.retry, row.message)


def test_code_of_the_application_is_a_failed_run() -> None:
    info = StreamError("ACME_DOWN").info
    assert (info.error_type, info.recoverable, info.status) == ("execution", False, 500)
    assert info.reason == "upstream_error"
    assert info.message


def test_every_value_can_be_given() -> None:
    error = StreamError(
        "ACME_DOWN",
        "Back at noon.",
        error_type="system",
        recoverable=True,
        retry_after_ms=500,
        status=503,
        details={"node": 3},
    )
    info = classify_exception(error, debug=True)
    assert info == error.info
    assert (info.message, info.retry_after_ms, info.status, info.details) == (
        "Back at noon.",
        500,
        503,
        {"node": 3},
    )
    assert classify_exception(error).details is None
    assert str(error) == "ACME_DOWN: Back at noon."


def test_stream_error_texts_are_redacted_and_bounded() -> None:
    info = StreamError("ACME_DOWN", "see /srv/app/x.py " + "word " * 300, details="password=hunter2").info
    assert "/srv/app" not in info.message
    assert len(info.message) <= 500
    assert "hunter2" not in str(info.details)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("acme", {}),
        ("AB", {}),
        ("A" * 65, {}),
        ("", {}),
        (None, {}),
        ("TOOL_FAILED", {}),
        ("ACME_DOWN", {"status": 200}),
        ("ACME_DOWN", {"status": True}),
        ("ACME_DOWN", {"error_type": "fatal"}),
        ("ACME_DOWN", {"retry_after_ms": -1}),
    ],
)
def test_impossible_stream_error_is_refused(code: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"code|status|error_type|retry_after_ms|failure"):
        StreamError(code, **options)


def test_stream_error_is_found_behind_other_exceptions() -> None:
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = StreamError("ACME_DOWN")
    assert classify_exception(wrapped).code == "ACME_DOWN"


@pytest.mark.parametrize(
    ("error", "status", "code", "retry"),
    [
        ("RATE_LIMITED", 429, "RATE_LIMITED", True),
        ("UNAUTHENTICATED", 401, "UNAUTHENTICATED", False),
        ("ACME_DOWN", 500, "ACME_DOWN", False),
        (ValueError("secret"), 500, "INTERNAL", True),
        (TimeoutError(), 504, "UPSTREAM_TIMEOUT", True),
        (StreamError("NO_REPORT", "Gone.", status=410), 410, "NO_REPORT", False),
        (error_info("MODEL_NOT_FOUND"), 404, "MODEL_NOT_FOUND", False),
    ],
)
def test_preflight_envelope_has_status_code_and_retry(
    error: Any, status: int, code: str, retry: bool
) -> None:
    got, body = preflight_envelope(error, request_id="req_1")
    message = body["error"].pop("message")
    assert "secret" not in message
    assert (got, body) == (
        status,
        {"status": "error", "error": {"code": code, "retry": retry}, "request_id": "req_1"},
    )


def test_preflight_envelope_without_a_request_id_gets_one() -> None:
    assert valid_request_id(preflight_envelope("INTERNAL")[1]["request_id"])
    with bound_request_id("req_here"):
        assert preflight_envelope("INTERNAL")[1]["request_id"] == "req_here"


def test_debug_adds_redacted_details() -> None:
    body = preflight_envelope(ValueError("password=hunter2"), debug=True)[1]
    assert body["error"]["details"]["exception"] == "ValueError"
    assert "hunter2" not in str(body)


def test_text_that_is_no_code_is_refused() -> None:
    with pytest.raises(ValueError, match="code"):
        preflight_envelope("something went wrong")
