"""What went wrong, in the vocabulary of `errors.CODES`: a status, an upstream's error event or an exception.

Types and HTTP statuses are believed first, an upstream's own codes next and the words of a message last, and
those only as whole words in a context that leaves no doubt: "the table has 4291 rows" is no 429.

Source: the standard protocol 1.1, section 5; the library contract, section 2 (`classify_exception`).
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from streamweir.errors import CODES, ErrorInfo, ErrorType, Reason, error_info
from streamweir.redaction import redact

__all__ = [
    "Classified",
    "classify_exception",
    "classify_failure",
    "error_in_body",
    "info_for_status",
    "parse_retry_after",
]


class Classified(msgspec.Struct, frozen=True):
    """What an upstream's error event says, in our words."""

    code: str
    """One of `CODES`, or the upstream's own machine code in the place of `UPSTREAM_ERROR`."""
    error_type: ErrorType
    recoverable: bool
    reason: Reason


# --- HTTP statuses ------------------------------------------------------------------------------------------

_STATUS_CODES: Final[dict[int, str]] = {
    401: "AUTH_FAILED",
    403: "AUTH_FAILED",
    404: "NOT_FOUND",
    408: "UPSTREAM_TIMEOUT",
    429: "RATE_LIMITED",
    504: "UPSTREAM_TIMEOUT",
}
_RETRY_LATER: Final = frozenset({429, 503})
"""The statuses whose Retry-After is meant for the client."""

_MAX_RETRY_AFTER_MS: Final = 24 * 3600 * 1000  # nobody waits for longer than a day
_DELTA_SECONDS: Final = re.compile(
    r"\d{1,10}(?:\.\d{1,9})?", re.ASCII
)  # RFC 9110 has no fraction, servers do
_LONGEST_DATE: Final = 64  # "Sunday, 06-Nov-94 08:49:37 GMT" is the longest form of RFC 9110


def info_for_status(status: int, *, retry_after_ms: int | None = None) -> ErrorInfo:
    """Return what an upstream's HTTP status means for the client.

    A status below 400 or above 599 got here because it could not be used: `UPSTREAM_INVALID_RESPONSE`.
    `retry_after_ms` is kept where Retry-After has a meaning: 429 and 503.
    """
    code = _code_of_status(status) or "UPSTREAM_INVALID_RESPONSE"
    return error_info(code, retry_after_ms=retry_after_ms if status in _RETRY_LATER else None)


def parse_retry_after(value: str | None, *, now: float) -> int | None:
    """Return a Retry-After header in milliseconds, between 0 and a day; `None` for none that can be read.

    `now` is Unix time in seconds: the header may be a date.
    """
    text = (value or "")[: _LONGEST_DATE + 1].strip()
    if _DELTA_SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, LookupError, OverflowError, OSError):
            return None
    return int(min(max(seconds * 1000, 0), _MAX_RETRY_AFTER_MS))


def _code_of_status(status: object) -> str | None:
    """Return the code of an HTTP error status (a number or its digits), `None` for anything else."""
    if isinstance(status, str) and len(status) == 3 and status.isascii() and status.isdigit():
        status = int(status)
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        return None
    return _STATUS_CODES.get(status, "UPSTREAM_REJECTED" if status < 500 else "UPSTREAM_ERROR")


# --- codes of others ----------------------------------------------------------------------------------------

_MACHINE_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{2,63}")

_FOREIGN_CODES: Final[dict[str, str]] = {
    foreign: code
    for code, names in {
        "RATE_LIMITED": "rate_limit_exceeded rate_limit_error rate_limit rate_limited too_many_requests"
        " throttling_error throttling_exception throttled requests_limit_reached",
        "QUOTA_EXCEEDED": "insufficient_quota quota_exceeded provider_quota_exceeded billing_error"
        " billing_hard_limit_reached insufficient_balance insufficient_credits",
        "CONTEXT_LENGTH_EXCEEDED": "context_length_exceeded context_window_exceeded"
        " context_window_exceeded_error string_above_max_length prompt_too_long",
        "MODEL_NOT_FOUND": "model_not_found model_not_found_error model_currently_not_support"
        " model_decommissioned",
        "CONTENT_FILTERED": "content_filter content_filtered content_policy_violation"
        " content_policy_violation_error responsible_ai_policy_violation",
        "AUTH_FAILED": "invalid_api_key incorrect_api_key authentication_error auth_error permission_error"
        " permission_denied_error unauthorized unauthenticated forbidden invalid_authentication"
        " provider_not_initialize access_denied_exception",
        "NOT_FOUND": "not_found not_found_error resource_not_found_exception",
        "UPSTREAM_TIMEOUT": "timeout timeout_error timed_out request_timeout request_timeout_error "
        "gateway_timeout api_timeout_error deadline_exceeded",
        "UPSTREAM_REJECTED": "invalid_request invalid_request_error bad_request bad_request_error "
        "invalid_param invalid_argument validation_error validation_exception unprocessable_entity_error "
        "request_too_large unsupported_parameter",
        "UPSTREAM_ERROR": "server_error api_error overloaded overloaded_error internal_error "
        "internal_server_error service_unavailable service_unavailable_error bad_gateway "
        "engine_overloaded api_connection_error",
    }.items()
    for foreign in names.split()
}
"""Codes of OpenAI, Anthropic, LiteLLM, Dify, Bedrock and their kin, in lower case with underscores."""

_RPC_CODES: Final[dict[str, str]] = {
    "RESOURCE_EXHAUSTED": "RATE_LIMITED",
    "UNAUTHENTICATED": "AUTH_FAILED",
    "PERMISSION_DENIED": "AUTH_FAILED",
    "DEADLINE_EXCEEDED": "UPSTREAM_TIMEOUT",
    "INVALID_ARGUMENT": "UPSTREAM_REJECTED",
    "FAILED_PRECONDITION": "UPSTREAM_REJECTED",
    "OUT_OF_RANGE": "UPSTREAM_REJECTED",
}
"""The canonical codes of Google's APIs keep their names; this is the row that each stands for."""

_ERROR_TYPES: Final[tuple[tuple[re.Pattern[str], ErrorType], ...]] = (
    (re.compile("TIMEOUT|TIMED_OUT"), "timeout"),
    (re.compile("INVALID|VALIDATION"), "validation"),
)
"""What an upstream's own machine code tells by its name."""

_CAUSES: Final = frozenset(CODES) - {"UPSTREAM_ERROR"}
_REFINED_BY_CODE: Final[dict[str | None, frozenset[str]]] = {
    None: frozenset(CODES),
    "UPSTREAM_ERROR": _CAUSES,
    "UPSTREAM_REJECTED": _CAUSES,
    "NOT_FOUND": frozenset({"MODEL_NOT_FOUND"}),
    "RATE_LIMITED": frozenset({"QUOTA_EXCEEDED"}),  # OpenAI's 429 with insufficient_quota
}
"""By status: which code may say it more exactly. Any other status has the last word."""

_REFINED_BY_WORDS: Final[dict[str | None, frozenset[str]]] = {
    None: frozenset(CODES),
    "UPSTREAM_REJECTED": frozenset(
        {"CONTEXT_LENGTH_EXCEEDED", "MODEL_NOT_FOUND", "CONTENT_FILTERED", "QUOTA_EXCEEDED", "AUTH_FAILED"}
    ),
    "NOT_FOUND": frozenset({"MODEL_NOT_FOUND"}),
}
"""By status and code: which cause may be read from the message. A 429 also says "quota" of a rate."""


def error_in_body(value: object) -> tuple[object, object]:
    """Return message and code of a JSON error body as most APIs write it; None for what it does not say."""
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        value = value["error"]
    if not isinstance(value, dict):
        return None, None
    texts = (value.get(key) for key in ("message", "detail", "error"))
    message = next((text for text in texts if isinstance(text, str)), None)
    return message, value.get("code") or value.get("type")


def classify_failure(message: object = None, *, code: object = None, status: object = None) -> Classified:
    """Return what an upstream's error event means.

    Args:
        message: its text; read for evidence only, never passed on.
        code: its machine code: a name, or a number where it is an HTTP status from 400 to 599.
        status: its HTTP status, if it has a field for one.

    Anything is taken, of any type; without evidence it is `UPSTREAM_ERROR`. Whether the upstream says itself
    that trying again helps is for the caller to put in the place of `recoverable`.
    """
    own = _machine_code(code)
    known = _code_of_status(status) or _code_of_status(code)
    if own and known in (None, "UPSTREAM_ERROR"):
        return _own_code(own)
    return _classified(_cause(known, code, message) or "UPSTREAM_ERROR")


def _cause(known: str | None, code: object, message: object) -> str | None:
    """Return `known`, made more exact by a code and then by words, as far as either may."""
    by_code = _code_of_foreign(code)
    if by_code in _REFINED_BY_CODE.get(known, ()):
        known = by_code
    if allowed := _REFINED_BY_WORDS.get(known):
        by_words = _code_of_words(message)
        if by_words in allowed:
            known = by_words
    return known


def _machine_code(code: object) -> str | None:
    """Return a code that may be passed on by its own name: well formed, and no key in disguise."""
    if isinstance(code, str) and _MACHINE_CODE.fullmatch(code) and redact(code) == code:
        return code
    return None


def _own_code(own: str) -> Classified:
    row = own if own in CODES else _RPC_CODES.get(own)
    if row:
        return _classified(row, own)
    plain = _classified("UPSTREAM_ERROR", own)
    told = next((error_type for pattern, error_type in _ERROR_TYPES if pattern.search(own)), plain.error_type)
    return msgspec.structs.replace(plain, error_type=told)


def _classified(row_name: str, code: str | None = None) -> Classified:
    row = CODES[row_name]
    return Classified(code or row_name, row.error_type, row.recoverable, row.reason)


_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _code_of_foreign(code: object) -> str | None:
    """Look up `rate_limit_error`, `RateLimitError` and `litellm.RateLimitError` alike."""
    if not isinstance(code, str) or len(code) > 128:
        return None
    if code in CODES:
        return code
    name = code.strip().rpartition(".")[2]
    return _FOREIGN_CODES.get(_CAMEL_HUMP.sub("_", name).replace("-", "_").lower())


# --- words --------------------------------------------------------------------------------------------------

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


def _code_of_words(message: object) -> str | None:
    text = _text(message)[:_LONGEST_MESSAGE]
    for code, pattern in _WORDS:
        if pattern.search(text):
            return code
    status = _STATUS_IN_WORDS.search(text)
    return _code_of_status(status[1] or status[2]) if status else None


def _text(message: object) -> str:
    """Return the text of a message that may have come as an object; nothing for what says nothing."""
    if isinstance(message, Mapping):
        message = next(
            (message[key] for key in ("message", "msg", "detail", "error") if key in message), None
        )
    return message if isinstance(message, str) else ""


# --- exceptions ---------------------------------------------------------------------------------------------

_EXCEPTIONS: Final[dict[str, str | None]] = {
    "streamweir.LimitExceeded": "STREAM_LIMIT_EXCEEDED",
    "streamweir.ProtocolError": "UPSTREAM_INVALID_RESPONSE",
    **dict.fromkeys(
        [
            "aiohttp.ServerTimeoutError",
            "anthropic.APITimeoutError",
            "builtins.TimeoutError",
            "httpcore.TimeoutException",
            "httpx.TimeoutException",
            "litellm.Timeout",
            "openai.APITimeoutError",
            "requests.Timeout",
            "urllib3.TimeoutError",
        ],
        "UPSTREAM_TIMEOUT",
    ),
    **dict.fromkeys(
        [
            "aiohttp.ClientConnectionError",
            "anthropic.APIConnectionError",
            "builtins.ConnectionError",
            "httpcore.NetworkError",
            "httpcore.ProxyError",
            "httpcore.RemoteProtocolError",
            "httpx.NetworkError",
            "httpx.ProxyError",
            "httpx.RemoteProtocolError",
            "openai.APIConnectionError",
            "requests.ConnectionError",
            "socket.gaierror",
            "socket.herror",
            "ssl.SSLError",
            "urllib.URLError",
            "urllib3.ProtocolError",
        ],
        "UPSTREAM_UNREACHABLE",
    ),
    **dict.fromkeys(
        ["aiohttp.ClientPayloadError", "asyncio.IncompleteReadError", "http.IncompleteRead"],
        "UPSTREAM_TRUNCATED",
    ),
    **dict.fromkeys(["httpx.DecodingError", "aiohttp.ContentTypeError"], "UPSTREAM_INVALID_RESPONSE"),
    "urllib.HTTPError": None,  # a URLError, but it has a status
}
"""By top-level package and class name, since neither httpx nor any SDK is imported for this."""

_NETWORK_ERRNOS: Final = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EHOSTDOWN,
        errno.EADDRNOTAVAIL,
        errno.ENOTCONN,
    }
)
"""Of an OSError without a class of its own; the others are about files, and those are a fault of the app."""

_PROGRAMMING_ERRORS: Final = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ImportError, LookupError, MemoryError,
    NameError, NotImplementedError, OSError, RecursionError, SyntaxError, SystemError, TypeError, ValueError,
)  # fmt: skip
"""What these say is about code, data or files, so that their words are no evidence."""

_MAX_CAUSES: Final = 8  # deep enough for every SDK, and a chain may be a ring


def classify_exception(exc: BaseException, *, debug: bool = False) -> ErrorInfo:
    """Return what an exception means for the client; its own text never gets there.

    An exception that carries an `info: ErrorInfo` says it itself. Else the type counts first (timeouts and
    connection errors of the standard library, httpx, aiohttp and the usual SDKs), then a `status_code`,
    `status` or `response.status_code`; `__cause__` and exception groups of one are looked through; words
    come last, and what is left is `INTERNAL`. Nothing that the exception does when looked at can raise.

    With `debug`, `details` is `{"exception": <type>, "message": <its text, redacted>}`.
    """
    try:
        info = _info_of_exception(exc)
    except Exception:  # a property, a `__class__` or an `__eq__` of theirs
        info = error_info("INTERNAL")
    if not debug:
        return msgspec.structs.replace(info, details=None)
    if info.details is not None:
        return info
    details = {"exception": redact(type(exc).__name__), "message": redact(_text_of_exception(exc))}
    return msgspec.structs.replace(info, details=details)


def _info_of_exception(exc: BaseException) -> ErrorInfo:
    causes = list(_causes(exc))
    for cause in causes:
        if info := _info_of_facts(cause):
            return info
    for cause in causes:
        if not issubclass(type(cause), _PROGRAMMING_ERRORS) and (
            code := _cause(None, _attribute(cause, "code"), _text_of_exception(cause))
        ):
            return error_info(code)
    return error_info("INTERNAL")


def _causes(exc: object) -> Iterator[BaseException]:
    """Yield the exception and what it was raised from, outermost first."""
    for _ in range(_MAX_CAUSES):
        if not issubclass(type(exc), BaseException):
            return
        yield exc  # type: ignore[misc]  # not isinstance: that would ask their `__class__`
        exc = _only_member(exc) or _attribute(exc, "__cause__")


def _only_member(exc: object) -> object:
    members = _attribute(exc, "exceptions") if issubclass(type(exc), BaseExceptionGroup) else None
    return members[0] if isinstance(members, tuple) and len(members) == 1 else None


def _info_of_facts(exc: BaseException) -> ErrorInfo | None:
    """Return what an exception says without words: by its `info`, its type or its status."""
    info = _attribute(exc, "info")
    if isinstance(info, ErrorInfo):
        return info
    if code := _code_of_type(exc):
        return error_info(code)
    return _info_of_status_attribute(exc)


def _code_of_type(exc: BaseException) -> str | None:
    for cls in type(exc).__mro__:
        name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
        if name in _EXCEPTIONS:
            return _EXCEPTIONS[name]
    return "UPSTREAM_UNREACHABLE" if isinstance(exc, OSError) and _is_network(exc) else None


def _is_network(exc: OSError) -> bool:
    # asyncio joins what all the addresses of a host said into one OSError without a number
    return exc.errno in _NETWORK_ERRNOS or (
        exc.errno is None and "Connect call failed" in _text_of_exception(exc)
    )


def _info_of_status_attribute(exc: BaseException) -> ErrorInfo | None:
    response = _attribute(exc, "response")
    holders = (
        (exc, "status_code"),
        (exc, "status"),
        (response, "status_code"),
        (response, "status"),
        (exc, "code"),
    )
    for holder, name in holders:
        if known := _code_of_status(status := _attribute(holder, name)):
            code = _cause(known, _attribute(exc, "code"), _text_of_exception(exc)) or known
            retry_after_ms = _retry_after_of(response) if status in _RETRY_LATER else None
            return error_info(code, retry_after_ms=retry_after_ms)
    return None


def _retry_after_of(response: object) -> int | None:
    headers = _attribute(response, "headers")
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    return parse_retry_after(value, now=time.time()) if isinstance(value, str) else None


def _attribute(owner: object, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # a property that raises says nothing
        return None


def _text_of_exception(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:
        return ""
