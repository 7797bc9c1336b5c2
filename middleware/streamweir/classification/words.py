"""What the words of a message say of its cause; the weakest evidence, and only in a context without doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from streamweir.classification.statuses import code_of_status

__all__ = ["code_of_words"]

_LONGEST_MESSAGE: Final = 4096  # what a message is about stands at its beginning


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


_WORDS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "QUOTA_EXCEEDED",
        _words(
            r"\binsufficient[ _](?:quota|balance|funds|credits?)\b|\bout of (?:quota|credits?)\b"
            r"|\bquota\b[^\n]{0,60}?\b(?:exceeded|exhausted|used up|reached)\b"
            r"|\b(?:exceed(?:ed|s)?|exhausted|no|not enough)\b(?: \w{1,20}){0,4} quota\b"
            r"|\bcredit balance is too low\b|配额(?:不足|已|超)|余额不足|额度(?:不足|已)"
        ),
    ),
    (
        "CONTEXT_LENGTH_EXCEEDED",
        _words(
            r"\bcontext[ _-]?(?:length|window)|\bmaximum (?:context|(?:prompt|input|sequence) length)\b"
            r"|\b(?:prompt|input|conversation) is too long\b|\btoo many (?:input |prompt )?tokens\b"
            r"|上下文(?:长度)?(?:过长|超)"
        ),
    ),
    (
        "MODEL_NOT_FOUND",
        _words(
            r"\bmodel[\s:]{1,3}[`'\"]?[\w./:@-]{1,120}[`'\"]?[\s:,]{1,3}(?:(?:is|was|has been|have been) )?"
            r"(?:not found|does not exist|doesn't exist|not exist|decommissioned|no longer available)\b"
            r"|\bmodel(?:[ _]not[ _]found|[ _]not[ _]exist| does(?: not|n't) exist)"
            r"|\b(?:no such|unknown) model\b|模型不存在"
        ),
    ),
    (
        "CONTENT_FILTERED",
        _words(
            r"\bcontent[ _-]?(?:filter|policy|management policy)|\bresponsible ai\b"
            r"|\bflagged by [^\n]{0,40}?(?:safety|moderation)\b|\bsafety (?:filter|system|policy)\b"
            r"|内容(?:审核|安全)"
        ),
    ),
    (
        "AUTH_FAILED",
        _words(
            r"\bunauthori[sz]ed\b|\b(?:invalid|incorrect|missing|expired|wrong)[ _](?:x-)?api[ _-]?key\b"
            r"|\bapi[ _-]?key(?: \w{1,20}){0,2} (?:invalid|incorrect|missing|expired|not valid)\b"
            r"|\bauthentication[ _]?(?:error|fail(?:ed|ure))\b|\b(?:failed to authenticate|auth failed)\b"
            r"|\binvalid (?:credentials|authentication)\b|认证失败|未授权"
        ),
    ),
    (
        "RATE_LIMITED",
        _words(
            r"\brate[ _-]?limit(?:s|ed|ing|error|exceeded|_exceeded|_error)?\b|\btoo many requests\b"
            r"|\bthrottl(?:ed|ing)\b|请求过于频繁|限流"
        ),
    ),
    (
        "UPSTREAM_TIMEOUT",
        # the name of a setting is no evidence: "timeout must be positive", "timeout=30"
        _words(
            r"\btimed[ -]out\b|\b[a-z]{0,40}time-?out(?:error|exception)?\b"
            r"(?!s? (?:must|should|value|of|is|setting)\b|=|: ?\d)|\bdeadline exceeded\b|超时"
        ),
    ),
    (
        "UPSTREAM_ERROR",
        _words(
            r"\bconnection (?:was )?(?:refused|reset|aborted|closed|error|failed)\b|\bunreachable\b"
            r"|\bconnect call failed\b|\bname resolution\b|\bserver disconnected\b|\binternal server error\b"
            r"|\bbad gateway\b|\bservice (?:is )?(?:temporarily )?unavailable\b|\boverloaded\b"
        ),
    ),
)
"""First match wins: the exact causes stand before those that also mention them."""

_STATUS_IN_WORDS: Final = re.compile(
    # HTTP 429, HTTP/1.1 429, status_code: 429, 'code': '429', error code 429
    r"\b(?i:http(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|(?:error|response)[ _-]?code|code(?=\W{0,2}[:=]))"
    r"[\"']?[ ]?[:=(]?[ ]?[\"']?([45]\d\d)(?!\w|[.,]\d)"
    # "429 Too Many Requests", "Error: 429 - ...": at the beginning or after "error", and no number of things
    r"|(?:\A|\b(?i:error):? )\W{0,3}([45]\d\d)(?= ?(?:\Z|[^\w\s.,%]|[.,](?!\d)|[A-Z][a-z]))",
    re.ASCII,
)


def code_of_words(message: object) -> str | None:
    """Return the code that the words of `message` are evidence for, `None` if they are none."""
    text = _text(message)[:_LONGEST_MESSAGE]
    for code, pattern in _WORDS:
        if pattern.search(text):
            return code
    status = _STATUS_IN_WORDS.search(text)
    return code_of_status(status[1] or status[2]) if status else None


def _text(message: object) -> str:
    """Return the text of a message that may have come as an object; nothing for what says nothing."""
    if isinstance(message, Mapping):
        message = next(
            (message[key] for key in ("message", "msg", "detail", "error") if key in message), None
        )
    return message if isinstance(message, str) else ""
