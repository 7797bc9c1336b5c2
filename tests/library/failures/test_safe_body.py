"""The body of an error status keeps its shape and loses its texts."""

import json
from typing import Any

import pytest

from cases import for_each
from streamweir.errors import CODES
from streamweir.events import Error
from streamweir.failures.safe_body import MAX_BODY_BYTES, safe_body

JSON = b"application/json"
MESSAGE = CODES["RATE_LIMITED"].message
SECRET = "Connection to postgres://app:hunter2@10.0.0.7/agents was refused"


def safe(value: Any, *, error: Error | None = None) -> Any:
    """Return the value of the safe form of a JSON body."""
    return json.loads(safe_body(json.dumps(value).encode(), JSON, code="RATE_LIMITED", error=error).data)


def test_safe_body_of_json_keeps_keys_numbers_flags_codes_and_replaces_texts() -> None:
    given = {
        "status": "error",
        "error": {"code": "TOO_MANY", "message": SECRET, "type": "rate_limit_error", "retry": True},
        "code": 102,
        "data": None,
        "request_id": "req_0123456789abcdef0123456789abcdef",
        "share": 0.25,
        "trace": [SECRET, {"detail": [SECRET]}],
    }
    expected = {
        **given,
        "error": {**given["error"], "message": MESSAGE},  # type: ignore[dict-item]
        "trace": [MESSAGE, {"detail": [MESSAGE]}],
    }
    assert safe(given) == expected
    assert [*safe(given)] == [*given]


@for_each(
    "given",
    [
        ({"error": "invalid_token"}, True),
        ({"error": "UPSTREAM_BUSY"}, True),
        ({"detail": "Incorrect API key"}, False),
        ({"error": "password1"}, False),
        ("A sentence.", False),
        ([1, 2.5, True, None], True),
        (17, True),
    ],
)
def test_safe_body_of_json_keeps_only_codes(given: tuple[Any, bool]) -> None:
    value, kept = given
    assert (safe(value) == value) is kept
    assert kept or MESSAGE in json.dumps(safe(value))


def test_safe_body_with_a_secret_in_a_field_withholds_it() -> None:
    assert "abcdef" not in json.dumps(safe({"api_key": "abcdef0123456789", "code": 1}))


def test_safe_body_of_a_dialect_with_messages_for_users_keeps_the_message_redacted() -> None:
    text = "The table is locked; ask ops@corp.example"
    error = Error(
        error_type="execution", message=text, code="LOCKED", for_users=True, recoverable=False, terminal=True
    )
    got = safe({"error": {"message": text, "hint": SECRET}}, error=error)
    assert got["error"]["message"].startswith("The table is locked")
    assert "corp.example" not in got["error"]["message"]
    assert got["error"]["hint"] == MESSAGE


def test_safe_body_of_a_dialect_with_internal_messages_replaces_the_message() -> None:
    error = Error(
        error_type="execution", message="Locked by ops", code="LOCKED", recoverable=False, terminal=True
    )
    assert safe({"message": "Locked by ops"}, error=error) == {"message": MESSAGE}


def nested(levels: int) -> bytes:
    return b"[" * levels + b"1" + b"]" * levels


@for_each(
    "given",
    [
        (nested(100), JSON, nested(100)),
        (nested(101), JSON, b""),
        (b"[1," + b" " * (MAX_BODY_BYTES - 5) + b"2]", JSON, None),
        (b"[1," + b" " * (MAX_BODY_BYTES - 4) + b"2]", JSON, b""),
        (None, JSON, b""),
        (b"", JSON, b""),
        (b"{half", JSON, b""),
        (b"<p>Traceback</p>", b"text/html; charset=utf-8", MESSAGE.encode()),
        (b"Traceback", b"text/plain", MESSAGE.encode()),
        (b"Traceback", b"text/plain; charset=utf-16-le", MESSAGE.encode("utf-16-le")),
        (b"Traceback", b"text/plain; charset=klingon", MESSAGE.encode()),
        (b"Traceback", b"text/plain; charset=rot13", MESSAGE.encode()),
        (b"Traceback", b"", MESSAGE.encode()),
        (b'{"a": 1}', b"text/plain", b'{"a": 1}'),
        (b'{"a": 1}', b"", b'{"a": 1}'),
        (b'{"a": 1}', b"application/problem+json", b'{"a": 1}'),
        (b'"Traceback"', b"text/plain", MESSAGE.encode()),
        (b"\x89PNG\x00", b"image/png", b""),
        (b"\x89PNG\x00", b"", b""),
        (b'{"a": "b c"}', b"application/octet-stream", b""),
        (b'{"e": "Traceback, line 1", "e": "invalid_token"}', JSON, b'{"e":"invalid_token"}'),
        (b'[{"e": {"m": "Traceback, line 1"}, "\\u0065": 1}]', JSON, b'[{"e":1}]'),
    ],
)
def test_safe_body_depends_on_the_content_type(given: tuple[bytes | None, bytes, bytes | None]) -> None:
    body, content_type, expected = given
    got = safe_body(body, content_type, code="RATE_LIMITED").data
    assert got == (body if expected is None else expected)


@pytest.mark.parametrize("code", ["LLM_RATE_LIMIT", "UPSTREAM_ERROR"])
def test_safe_body_for_a_code_of_the_upstream_has_the_general_message(code: str) -> None:
    assert safe_body(b"Boom", b"text/plain", code=code).data.decode() == CODES["UPSTREAM_ERROR"].message
