"""The safe form of the body of an error status: its structure stays, its texts are replaced.

JSON keeps every key, number, boolean and null, and texts that are ids, codes or known words. Every other text
is replaced by the fixed message of the failure's code. If the error messages of a dialect are written for
users, the message is kept, redacted.

Source: the standard protocol 1.1, section 8 (the table of failures, first row) and section 5 (messages).
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from streamweir.errors import CODES, MalformedEvent
from streamweir.events import Error
from streamweir.jsontext import has_repeated_key, parse_json, valid_utf8, write_json
from streamweir.stages import ErrorSanitizer
from streamweir.translation.verbatim.safe_frame import SafeFrame

__all__ = ["MAX_BODY_BYTES", "MAX_BODY_SECONDS", "SafeBody", "safe_body"]

MAX_BODY_BYTES: Final = 64 << 10
"""The most bytes that are read of the body of an error status; a larger body is not sent at all."""

MAX_BODY_SECONDS: Final = 2.0
"""The longest time for which the body of an error status is read; a longer body is not sent."""

_JSON: Final = b"application/json"
_PLAIN: Final = b"text/plain; charset=utf-8"
_JSON_TYPE: Final = re.compile(
    rb"application/(?:[\w.+-]+\+)?json|application/(?:x-)?(?:ndjson|jsonl)|text/json"
)
_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_LOWER_CODE: Final = re.compile(r"[a-z]{2,20}(?:_[a-z]{1,20}){1,6}")
"""A code in the spelling of OAuth and OpenAI, such as `invalid_token`."""


class SafeBody(NamedTuple):
    """A body that may be sent."""

    data: bytes
    media_type: bytes
    """The content type of `data`, for a response without one; empty for an empty body."""


_NO_BODY: Final = SafeBody(b"", b"")


def safe_body(body: bytes | None, content_type: bytes, *, code: str, error: Error | None = None) -> SafeBody:
    """Return the safe form of the body of an error status; empty if there is no safe form.

    Args:
        body: the decoded body; None if it is too long, did not end in time, broke off or cannot be decoded.
        content_type: the content type of the response; empty if there is none.
        code: the code of the failure; an upstream's own code has the message of `UPSTREAM_ERROR`.
        error: the error event that the body contains in the upstream's dialect.
    """
    if not body or len(body) > MAX_BODY_BYTES:
        return _NO_BODY
    essence = content_type.partition(b";")[0].strip().lower()
    message = CODES.get(code, CODES["UPSTREAM_ERROR"]).message
    if (safe := _safe_json(body, essence, message, error)) is not None:
        return SafeBody(safe, _JSON)
    if essence.startswith(b"text/") or (not essence and not _holds_control_bytes(body)):
        return SafeBody(_encoded(message, content_type), _PLAIN)
    return _NO_BODY


def _safe_json(body: bytes, essence: bytes, message: str, error: Error | None) -> bytes | None:
    """Return JSON with its texts replaced; None if the body is not JSON.

    If the response has another content type, only an object or a list counts as JSON.
    """
    if essence and not _JSON_TYPE.fullmatch(essence) and not essence.startswith(b"text/"):
        return None
    try:
        value = parse_json(body.strip())[0]
    except MalformedEvent:
        return None
    if not isinstance(value, dict | list) and not _JSON_TYPE.fullmatch(essence):
        return None
    safe = _SafeRefusal(message, error).copied(value)
    is_safe = safe == value and not has_repeated_key(body)
    return valid_utf8(body) if is_safe else write_json(safe)


class _SafeRefusal(SafeFrame):
    """Copies the JSON of a refusal by the rules in the module's docstring.

    Args:
        message: replaces every other text.
        error: the error event of the dialect, whose message is kept, redacted, if it is written for users.
    """

    def __init__(self, message: str, error: Error | None) -> None:
        sanitizer = ErrorSanitizer(debug=False)
        raw = [error] if error is not None and error.for_users else []
        safe = [event for one in raw for event in sanitizer.process(one) or (one,)]
        super().__init__(raw, safe, is_code=sanitizer.is_code, withheld=message)

    def copied(self, value: Any) -> Any:
        """Return the safe copy of a JSON value."""
        return self._copy(value, "")

    def _text(self, text: str, key: str) -> str:
        if _LOWER_CODE.fullmatch(text) and self._is_code(text):
            return text
        return super()._text(text, key)


def _encoded(message: str, content_type: bytes) -> bytes:
    """Return a message as bytes in the charset of a content type."""
    found = _CHARSET.search(content_type)
    try:
        return message.encode(found[1].decode("ascii")) if found else message.encode()
    except (LookupError, UnicodeError):
        return message.encode()


def _holds_control_bytes(body: bytes) -> bool:
    return bool(body.translate(None, bytes(range(0x20, 0x100)) + b"\t\r\n"))
