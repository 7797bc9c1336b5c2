"""One failure, one class: by type and status, by code, and by words only where they leave no doubt."""

from __future__ import annotations

import errno
import http
import http.client
import socket
import ssl
import urllib.error
from email.message import Message
from typing import Any

import aiohttp
import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.classification import (
    classify_exception,
    classify_failure,
    failure_in_body,
    info_for_status,
    parse_retry_after,
)
from streamweir.errors import (
    CODES,
    ConfigurationError,
    LimitExceeded,
    MalformedEvent,
    NotTheDialect,
    StreamweirError,
    error_info,
)

# --- statuses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "AUTH_FAILED"),
        (403, "AUTH_FAILED"),
        (404, "NOT_FOUND"),
        (408, "UPSTREAM_TIMEOUT"),
        (504, "UPSTREAM_TIMEOUT"),
        (429, "RATE_LIMITED"),
        *((status, "UPSTREAM_REJECTED") for status in (400, 402, 405, 409, 413, 422, 499)),
        *((status, "UPSTREAM_ERROR") for status in (500, 502, 503, 529, 599)),
        *((status, "UPSTREAM_INVALID_RESPONSE") for status in (0, 101, 200, 204, 301, 399, 600, -1)),
    ],
)
def test_each_status_has_its_row(status: int, code: str) -> None:
    assert info_for_status(status) == error_info(code)


@pytest.mark.parametrize(("status", "kept"), [(429, 7), (503, 7), (500, None), (401, None), (200, None)])
def test_retry_after_counts_where_it_has_a_meaning(status: int, kept: int | None) -> None:
    assert info_for_status(status, retry_after_ms=7).retry_after_ms == kept


NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        ("0", 0),
        ("3", 3000),
        (" 3 ", 3000),
        ("1.5", 1500),
        ("9999999999", 86_400_000),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
        ("Sunday, 06-Nov-94 08:49:47 GMT", 10_000),
        ("Sun Nov  6 08:49:47 1994", 10_000),
        ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
        ("Sun, 06 Nov 2094 08:49:37 GMT", 86_400_000),
        *((value, None) for value in (None, "", "-1", "+1", "1e9", "٣", "soon", "99999999999", "1" * 10_000)),
        *(
            (value, None)
            for value in ("Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +99999999")
        ),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, milliseconds: int | None) -> None:
    assert parse_retry_after(value, now=NOW) == milliseconds


@pytest.mark.slow
@given(st.text() | st.from_regex(r"\w{3}, \d+ Nov \d+ \d+:\d+:\d+ [+-]?\w+"))
def test_any_retry_after_is_bounded(value: str) -> None:
    milliseconds = parse_retry_after(value, now=NOW)
    assert milliseconds is None or 0 <= milliseconds <= 86_400_000


# --- error events -------------------------------------------------------------------------------------------


NO_CODES: tuple[object, ...] = (0, 100, 109, 4290, -32603, True, 429.0, None, [], {}, b"429")
CODES_OF_OTHERS: list[tuple[object, str]] = [
    ("rate_limit_exceeded", "RATE_LIMITED"),
    ("rate_limit_error", "RATE_LIMITED"),
    ("RateLimitError", "RATE_LIMITED"),
    ("litellm.RateLimitError", "RATE_LIMITED"),
    ("throttling_error", "RATE_LIMITED"),
    ("service_tier_capacity_exceeded", "RATE_LIMITED"),
    ("rate_limit_reached_error", "RATE_LIMITED"),
    ("tokens_limit_reached", "RATE_LIMITED"),
    ("exceeded_current_quota_error", "QUOTA_EXCEEDED"),
    ("ServiceQuotaExceededException", "QUOTA_EXCEEDED"),
    ("Arrearage", "QUOTA_EXCEEDED"),
    ("payment_required", "QUOTA_EXCEEDED"),
    ("exceed_context_size_error", "CONTEXT_LENGTH_EXCEEDED"),
    ("invalid_model", "MODEL_NOT_FOUND"),
    ("DeploymentNotFound", "MODEL_NOT_FOUND"),
    ("DataInspectionFailed", "CONTENT_FILTERED"),
    ("invalid_authentication_error", "AUTH_FAILED"),
    ("ExpiredTokenException", "AUTH_FAILED"),
    ("UnrecognizedClientException", "AUTH_FAILED"),
    ("permission_denied", "AUTH_FAILED"),
    ("resource_not_found_error", "NOT_FOUND"),
    ("ModelTimeoutException", "UPSTREAM_TIMEOUT"),
    ("insufficient_quota", "QUOTA_EXCEEDED"),
    ("provider_quota_exceeded", "QUOTA_EXCEEDED"),
    ("context_length_exceeded", "CONTEXT_LENGTH_EXCEEDED"),
    ("ContextWindowExceededError", "CONTEXT_LENGTH_EXCEEDED"),
    ("model_not_found", "MODEL_NOT_FOUND"),
    ("content_filter", "CONTENT_FILTERED"),
    ("invalid_api_key", "AUTH_FAILED"),
    ("authentication_error", "AUTH_FAILED"),
    ("not_found_error", "NOT_FOUND"),
    ("invalid_request_error", "UPSTREAM_REJECTED"),
    ("timeout", "UPSTREAM_TIMEOUT"),
    ("APITimeoutError", "UPSTREAM_TIMEOUT"),
    ("server_error", "UPSTREAM_ERROR"),
    ("overloaded_error", "UPSTREAM_ERROR"),
    (429, "RATE_LIMITED"),
    ("429", "RATE_LIMITED"),
    (500, "UPSTREAM_ERROR"),
    (http.HTTPStatus.UNAUTHORIZED, "AUTH_FAILED"),
    *((code, "UPSTREAM_ERROR") for code in NO_CODES),
    *((code, "UPSTREAM_ERROR") for code in ("", "4290", "٤٢٩", "model_provider_error", "x" * 1000)),
    *((code, code) for code in CODES if code != "INTERNAL"),
    ("INTERNAL", "UPSTREAM_ERROR"),
]


@pytest.mark.parametrize(("code", "ours"), CODES_OF_OTHERS)
def test_machine_code_is_found_in_the_table(code: object, ours: str) -> None:
    found, row = classify_failure(code=code), CODES[ours]
    assert (found.code, found.error_type) == (ours, row.error_type)
    assert (found.recoverable, found.reason) == (row.recoverable, row.reason)


@pytest.mark.parametrize(
    ("code", "error_type", "recoverable"),
    [
        ("LLM_RATE_LIMIT", "execution", True),
        ("LLM_AUTH_FAILED", "execution", True),
        ("LLM_TIMEOUT", "timeout", True),
        ("CATALOG_SYNC_TIMEOUT", "timeout", True),
        ("INVALID_REQUEST", "validation", True),
        ("VALIDATION_ERROR", "validation", True),
        ("E42", "execution", True),
        ("RESOURCE_EXHAUSTED", "execution", True),
        ("UNAUTHENTICATED", "system", False),
        ("INVALID_ARGUMENT", "validation", False),
        ("DEADLINE_EXCEEDED", "timeout", True),
    ],
)
def test_machine_code_keeps_its_name(code: str, error_type: str, recoverable: bool) -> None:
    found = classify_failure("Rate limit exceeded", code=code)
    assert (found.code, found.error_type, found.recoverable) == (code, error_type, recoverable)
    assert found.reason == "upstream_error"


@pytest.mark.parametrize(
    "code",
    ["AKIAIOSFODNN7EXAMPLE", "DEADBEEF" * 4 + "0", "AB", "A" * 65, "A-B", "ABC\n", "Abc", "1AB", "ÄBC"],
)
def test_code_that_is_no_word_or_looks_like_a_key_is_dropped(code: str) -> None:
    assert classify_failure(code=code).code == "UPSTREAM_ERROR"


@pytest.mark.parametrize(
    ("status", "code", "message", "ours"),
    [
        # the status has the last word ...
        (429, "LLM_AUTH_FAILED", "unauthorized", "RATE_LIMITED"),
        (401, "rate_limit_exceeded", "429 Too Many Requests", "AUTH_FAILED"),
        (504, "context_length_exceeded", None, "UPSTREAM_TIMEOUT"),
        (500, None, "rate limit", "UPSTREAM_ERROR"),
        (429, None, "You exceeded your current quota", "RATE_LIMITED"),
        # ... unless it leaves the cause open
        (400, "context_length_exceeded", None, "CONTEXT_LENGTH_EXCEEDED"),
        (400, None, "This model's maximum context length is 8192 tokens", "CONTEXT_LENGTH_EXCEEDED"),
        (400, "invalid_request_error", "prompt is too long: 9 tokens", "CONTEXT_LENGTH_EXCEEDED"),
        (402, None, "Insufficient Balance", "QUOTA_EXCEEDED"),
        (404, None, "The model `x` does not exist", "MODEL_NOT_FOUND"),
        (404, "RATE_LIMITED", "rate limit", "NOT_FOUND"),
        (429, "insufficient_quota", None, "QUOTA_EXCEEDED"),
        (500, "LLM_RATE_LIMIT", None, "LLM_RATE_LIMIT"),
        (503, "rate_limit_exceeded", None, "RATE_LIMITED"),
        (400, "LLM_RATE_LIMIT", None, "UPSTREAM_REJECTED"),
        # no status at all
        (200, "LLM_RATE_LIMIT", None, "LLM_RATE_LIMIT"),
        (0, None, "rate limit", "RATE_LIMITED"),
        ("429", None, None, "RATE_LIMITED"),
        (True, None, None, "UPSTREAM_ERROR"),
        # the code before the words
        (None, "timeout", "rate limit", "UPSTREAM_TIMEOUT"),
        (None, 102, "429 Too Many Requests", "RATE_LIMITED"),
    ],
)
def test_classification_prefers_status_to_code_to_words(
    status: Any, code: object, message: object, ours: str
) -> None:
    assert classify_failure(message, code=code, status=status).code == ours


WORDS = {
    "RATE_LIMITED": [
        "Too many tokens, please wait before trying again.",
        "An error occurred (ThrottlingException): Too many tokens per day, please wait before trying again.",
        "Open api qps request limit reached",
        "Service tier capacity exceeded for this model.",
        "Too many concurrent requests for this model",
        "Rate limit reached for gpt-4o in organization org-SECRET123 on tokens per min (TPM): Limit 30000.",
        "litellm.RateLimitError: RateLimitError: OpenAIException",
        "Too Many Requests",
        "rate-limited",
        "429 Too Many Requests",
        "429",
        "429: slow down",
        "Error: 429",
        "HTTP 429",
        "HTTP/1.1 429",
        "status 429",
        "Error code: 429 - {'error': ...}",
        "status_code: 429, model_name: gpt-4o-mini",
        "{'code': '429'}",
        "请求过于频繁",
        "Rate limit reached for gpt-4o in organization org-x on tokens per min",
        "Error code: 429 - {'error': {'message': 'x'}}",
        "HTTP/1.1 429 Too Many Requests",
        "status_code: 429",
        "status code 429",
        "'code': '429'",
        "Too many requests, please try again",
        "请求过于频繁，请稍后再试",
        "触发限流",
        "您的请求频率过高，已被限流",
        "You have been rate limited",
        "rate_limit_exceeded",
        "ThrottlingException: Rate exceeded",
        "Request was throttled. Expected available in 5 seconds.",
        "openai.RateLimitError: slow down",
        "Client error '429 Too Many Requests' for url 'https://api'",
        "Requests rate limit exceeded, please try again later.",
        "Rate limit: 3 per 1 minute",
        "RESOURCE_EXHAUSTED: try later",
        "达到速率限制",
        "请求频率超限",
        "Zu viele Anfragen",
        "Trop de requêtes",
        "リクエストが多すぎます",
        "Received 429 from upstream",
        "server returned 429",
    ],
    "AUTH_FAILED": [
        "Incorrect API key provided: sk-bad********0000.",
        "invalid x-api-key",
        "Unauthorized",
        "authentication failed",
        "litellm.AuthenticationError: x",
        "API key not valid. Please pass a valid API key.",
        "HTTP 403",
        "401 Client Error",
        "Incorrect API key provided: sk-abc",
        "Invalid API key",
        "AuthenticationError: bad",
        "401 Unauthorized",
        "Error code: 401 - {'error'",
        "HTTP 403 Forbidden",
        "认证失败",
        "鉴权失败",
        "API Key 无效",
        "无效的令牌",
        "令牌已过期",
        "token expired or incorrect",
        "Invalid token",
        "No auth credentials found",
        "You didn't provide an API key",
        "api_key client option must be set",
        "未授权",
        "身份验证失败",
        "无权限访问",
        "Invalid API-key provided.",
        "PermissionDeniedError: x",
        "openai.AuthenticationError: x",
        "Authentication Fails (no such user)",
        "API Key not found. Please pass a valid API key.",
        "The security token included in the request is expired",
        "Access denied due to invalid subscription key or wrong API endpoint.",
    ],
    "QUOTA_EXCEEDED": [
        "You exceeded your current quota, please check your plan",
        "quota exceeded",
        "insufficient_quota",
        "Quota of sk-bad key exhausted, see org-SECRET123",
        "Your credit balance is too low",
        "余额不足",
        "配额不足",
        "You exceeded your current quota, please check your plan and billing details.",
        "Quota exceeded for quota metric",
        "Insufficient Balance",
        "账户余额不足，请充值",
        "配额已用尽",
        "额度已用完",
        "Your credit balance is too low to access the Anthropic API",
        "billing hard limit has been reached",
        "Arrearage: Access denied, please make sure your account is in good standing",
        "quota has been exhausted",
        "This request requires more credits, or fewer max_tokens. You can only afford 1000.",
        "You have exceeded your monthly included credits for Inference Providers.",
        "Your team has either used all available credits or reached its monthly spending limit.",
    ],
    "CONTEXT_LENGTH_EXCEEDED": [
        "This model's maximum context length is 8192 tokens",
        "exceeds the context window",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens",
        "context_length_exceeded",
        "litellm.ContextWindowExceededError: ContextWindowExceededError",
        "input length and max_tokens exceed context limit",
        "Requested tokens (5000) exceed context window of 4096",
        "上下文长度超出限制",
        "上下文过长",
        "输入内容过长",
        "Range of input length should be [1, 30720]",
        "Please reduce the length of the messages",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768)",
        "too many tokens",
        "token limit exceeded",
        "Input is too long for requested model",
        "the request exceeds the available context size, try increasing it",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    ],
    "MODEL_NOT_FOUND": [
        "The model `gpt-4.5` does not exist",
        "model 'llama3:70b' not found, try pulling it first",
        "model not found",
        "The model `x` has been decommissioned",
        "Model Not Exist",
        "The model `gpt-5x` does not exist or you do not have access to it.",
        "model 'llama9' not found, try pulling it first",
        "model \"x\" not found",
        "models/gemini-9 is not found for API version v1beta",
        "unknown model: foo",
        "Model not found",
        "模型不存在",
        "The model foo has been decommissioned",
        "model_not_found",
        "litellm.NotFoundError: model gpt does not exist",
        "Invalid model name passed in model=foo",
        "模型 foo 不存在",
        "No such model: foo",
        "model: claude-9-opus",
        "Invalid model: mistral-x",
        "Invalid model 'sonar-x'. Permitted models can be found in the documentation",
        "The provided model identifier is invalid.",
        "The API deployment for this resource does not exist.",
        "No endpoints found for foo/bar-1.",
        "foo-1 is not a valid model ID",
    ],
    "CONTENT_FILTERED": [
        "blocked by the content filter",
        "the content management policy",
        "content_filter",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "Your request was rejected as a result of our safety system.",
        "Input data may contain inappropriate content.",
        "Output data may contain inappropriate content. ",
        "内容安全审核未通过",
        "包含敏感词",
        "输入包含敏感内容",
        "blocked by content filtering policy",
        "ResponsibleAIPolicyViolation",
        "flagged by our moderation",
        "DataInspectionFailed",
        "Content Exists Risk",
        "finish_reason: SAFETY",
    ],
    "UPSTREAM_TIMEOUT": [
        "Request timed out.",
        "timeout",
        "Gateway Timeout",
        "httpx.ReadTimeout",
        "connection timed out",
        "ReadTimeout",
        "TimeoutError: ",
        "timed out",
        "The operation timed-out",
        "504 Gateway Timeout",
        "Deadline Exceeded",
        "请求超时",
        "连接超时",
        "Timeout context manager should be used inside a task",
        "APITimeoutError: Request timed out",
        "asyncio.exceptions.TimeoutError",
        "timeout waiting for response",
        "Connection timeout",
        "Read timed out. (read timeout=10)",
        "upstream request timeout",
        "statement timeout",
        "canceling statement due to statement timeout",
    ],
    "NOT_FOUND": [
        "HTTP 404",
        "404 Not Found",
        "Not Found",
        "Error code: 404 - {'detail': 'Not Found'}",
        "404 page not found",
    ],
    "UPSTREAM_REJECTED": [
        "Error code: 400 - {'error': {'message': 'Bad value'}}",
        "400 Bad Request",
        "Error code: 400 - {'error': {'message': 'bad'}}",
        "HTTP 422",
        "422 Unprocessable Entity",
        "Bad Request",
    ],
    "UPSTREAM_ERROR": [
        "the table has 4291 rows",
        "req_40112 rejected",
        "author name failed",
        "max_tokens must be >= 1",
        "0 errors",
        "page 429 of the manual",
        "429 rows were read",
        "4.29 seconds, 429.5 points, $429",
        "429,000 rows",
        "timeout must be positive",
        "the idle_timeout setting",
        "connection reset by peer",
        "Connection refused 10.0.0.7:9200",
        "host unreachable",
        "the moderate city",
        "status 200",
        "exit code 4290",
        "authored 401 books",
        "quotation marks",
        "the model of the city was not what we found",
        "",
        "found 404 records matching the filter",
        "Column 'rate' has a limit of 500 characters",
        "The 401(k) contribution limit is $23,000",
        "The user asked about quota sampling",
        "error: 500 rows expected, 480 found",
        "line 429: unexpected token",
        "revenue exceeded the quota of last year",
        "Please set a timeout for the job",
        "timeout=30 is the default",
        "timeout: 30",
        "the value 503 is not in list",
        "invoice 404-2021 is missing",
        "the moderator flagged the row",
        "context menu is empty",
        "The model does not converge",
        "model accuracy exceeds the limit",
        "model parameters not found in the file",
        "KeyError: 'authorization'",
        "the content of the filter column",
        "contents filter",
        "The bathroom is overloaded with colours",
        "unauthorised_biographies.csv is empty",
        "article 429 of the civil code",
        "HTTP/2 is supported",
        "HTTP 4290",
        "status 4290",
        "code=4291",
        "error code 42P01",
        "ORA-00429",
        "SQLSTATE 40001",
        "429,000 units sold",
        "429.5 degrees",
        "Room 503, Building B",
        "error 5001",
        "status code 200",
        "He throttled down",
        "no data",
        "The token budget has 3 rows",
        "Invalid model: a mapping was expected",
        "model: the fit did not converge",
        "the request limit of 10 rows",
        "contexts sized 4 differ",
        "too many rows",
        "too many columns in the table",
        "maximum length is 255",
        "the input is too large for int32",
        "rate of change limited",
        "rate-limiting step of the reaction",
        "The reaction's rate limiting step is unknown",
        "超时空要塞",
        "限流器已安装",
        "Cannot connect nodes A and B",
        "table 'quota' does not exist",
        "division by zero",
        "list index out of range",
        "Could not convert string to float: '429'",
        "The file 500.csv was not found",
        "404 days",
        "session 401: algebra",
        "the deadline exceeded expectations",
        "ErrorSanitizer system installed in 1999",
        "content policy changes of 2020",
        "Connection refused",
        "Connection reset by peer",
        "[Errno 111] Connection refused",
        "Connection aborted.",
        "All connection attempts failed",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "Overloaded",
        "Server disconnected without sending a response.",
        "Temporary failure in name resolution",
        "Name or service not known",
        "upstream connect error or disconnect/reset before headers",
        "no healthy upstream",
        "HTTP 500",
        "Error code: 503 - busy",
        "The server is overloaded",
        "服务器内部错误",
        "系统繁忙，请稍后重试",
        "The engine is currently overloaded, please try again later",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "message"), [(code, text) for code, texts in WORDS.items() for text in texts]
)
def test_words_count_only_where_they_leave_no_doubt(code: str, message: str) -> None:
    assert classify_failure(message).code == code


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"message": "rate limit"}, "RATE_LIMITED"),
        *(
            (message, "UPSTREAM_ERROR")
            for message in (None, 429, [], ["rate limit"], {"message": 1}, {1: 2}, object())
        ),
    ],
)
def test_message_of_any_type_is_accepted(message: object, code: str) -> None:
    assert classify_failure(message).code == code


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(anything, anything, anything)
def test_classification_of_anything_raises_nothing(message: object, code: object, status: Any) -> None:
    found = classify_failure(message, code=code, status=status)
    assert found.code in CODES or found.code == code


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "model ",
        "quota ",
        "a",
        "timeout",
        "exceeded a ",
        "content ",
        "code:",
        "error ",
        "api key a ",
        "\n",
        "配额",
    ],
)
def test_words_of_a_megabyte_are_classified_in_bounded_time(piece: str) -> None:
    classify_failure(piece * (2**20 // len(piece)), code=piece * 2**18)


# --- exceptions ---------------------------------------------------------------------------------------------


class SDKError(Exception):
    def __init__(self, message: str = "", **attributes: object) -> None:
        super().__init__(message)
        self.__dict__.update(attributes)


class StatedError(StreamweirError):
    info = error_info("QUOTA_EXCEEDED", details={"plan": "free"})


def foreign(package: str, name: str, base: type[Exception] = Exception, **attributes: object) -> Exception:
    """An exception like the one of a package that is not installed."""
    made: type[Exception] = type(name, (base,), {"__module__": f"{package}._exceptions", **attributes})
    return made("boom")


def raised_from(exc: Exception, cause: BaseException) -> Exception:
    exc.__cause__ = cause
    return exc


REQUEST = httpx.Request("POST", "http://upstream.internal/")


def http_status_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    response = httpx.Response(
        status, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    return httpx.HTTPStatusError("boom", request=REQUEST, response=response)


EXCEPTIONS: list[tuple[BaseException, str]] = [
    # timeouts
    (TimeoutError(), "UPSTREAM_TIMEOUT"),
    (socket.timeout(), "UPSTREAM_TIMEOUT"),  # noqa: UP041  # the old name, as older code raises it
    (httpx.ReadTimeout("boom"), "UPSTREAM_TIMEOUT"),
    (httpx.PoolTimeout("boom"), "UPSTREAM_TIMEOUT"),
    (aiohttp.ServerTimeoutError(), "UPSTREAM_TIMEOUT"),
    (aiohttp.ConnectionTimeoutError(), "UPSTREAM_TIMEOUT"),
    (foreign("openai", "APITimeoutError"), "UPSTREAM_TIMEOUT"),
    (foreign("requests", "Timeout", OSError), "UPSTREAM_TIMEOUT"),
    (
        foreign("requests", "ConnectTimeout", type(foreign("requests", "ConnectionError", OSError))),
        "UPSTREAM_TIMEOUT",
    ),
    (foreign("botocore", "ReadTimeoutError"), "UPSTREAM_TIMEOUT"),
    (foreign("botocore", "EndpointConnectionError"), "UPSTREAM_UNREACHABLE"),
    (foreign("requests", "ChunkedEncodingError", OSError), "UPSTREAM_TRUNCATED"),
    (foreign("google", "ResourceExhausted", code=429), "RATE_LIMITED"),
    (foreign("anthropic", "OverloadedError", status_code=529), "UPSTREAM_ERROR"),
    (foreign("sqlalchemy", "IntegrityError", args=("UNIQUE constraint 429",)), "INTERNAL"),
    # connections
    (ConnectionRefusedError(), "UPSTREAM_UNREACHABLE"),
    (ConnectionResetError(errno.ECONNRESET, "boom"), "UPSTREAM_UNREACHABLE"),
    (BrokenPipeError(), "UPSTREAM_UNREACHABLE"),
    (socket.gaierror(-2, "boom"), "UPSTREAM_UNREACHABLE"),
    (ssl.SSLCertVerificationError("boom"), "UPSTREAM_UNREACHABLE"),
    (OSError(errno.EHOSTUNREACH, "boom"), "UPSTREAM_UNREACHABLE"),
    (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1)"), "UPSTREAM_UNREACHABLE"),
    (urllib.error.URLError("boom"), "UPSTREAM_UNREACHABLE"),
    (httpx.ConnectError("boom"), "UPSTREAM_UNREACHABLE"),
    (httpx.RemoteProtocolError("boom"), "UPSTREAM_UNREACHABLE"),
    (aiohttp.ServerDisconnectedError(), "UPSTREAM_UNREACHABLE"),
    (foreign("anthropic", "APIConnectionError"), "UPSTREAM_UNREACHABLE"),
    # broken off, or not to be read
    (aiohttp.ClientPayloadError(), "UPSTREAM_TRUNCATED"),
    (http.client.IncompleteRead(b""), "UPSTREAM_TRUNCATED"),
    (httpx.DecodingError("boom"), "UPSTREAM_INVALID_RESPONSE"),
    # statuses
    (http_status_error(401), "AUTH_FAILED"),
    (http_status_error(503), "UPSTREAM_ERROR"),
    (urllib.error.HTTPError("http://x", 404, "boom", Message(), None), "NOT_FOUND"),
    (SDKError(status_code=429), "RATE_LIMITED"),
    (SDKError(status=504), "UPSTREAM_TIMEOUT"),
    (SDKError(status="RESOURCE_EXHAUSTED", code=429), "RATE_LIMITED"),
    (SDKError(status_code=200), "INTERNAL"),
    (SDKError(status_code=400, code="context_length_exceeded"), "CONTEXT_LENGTH_EXCEEDED"),
    (SDKError(status_code=429, code="insufficient_quota"), "QUOTA_EXCEEDED"),
    (SDKError("The model `x` does not exist", status_code=404), "MODEL_NOT_FOUND"),
    # our own
    (LimitExceeded(), "STREAM_LIMIT_EXCEEDED"),
    (NotTheDialect(), "UPSTREAM_INVALID_RESPONSE"),
    (MalformedEvent(), "UPSTREAM_INVALID_RESPONSE"),
    (ConfigurationError("timeout"), "INTERNAL"),
    (StatedError(), "QUOTA_EXCEEDED"),
    # looked through
    (raised_from(RuntimeError("boom"), httpx.ConnectError("boom")), "UPSTREAM_UNREACHABLE"),
    (raised_from(KeyError("boom"), raised_from(ValueError(), TimeoutError())), "UPSTREAM_TIMEOUT"),
    (ExceptionGroup("boom", [ConnectionRefusedError()]), "UPSTREAM_UNREACHABLE"),
    (ExceptionGroup("boom", [ExceptionGroup("boom", [StatedError()])]), "QUOTA_EXCEEDED"),
    (BaseExceptionGroup("boom", [raised_from(RuntimeError(), TimeoutError())]), "UPSTREAM_TIMEOUT"),
    (ExceptionGroup("boom", [TimeoutError(), TimeoutError()]), "INTERNAL"),
    # words, and where they say nothing
    (SDKError("Error code: 429 - boom"), "RATE_LIMITED"),
    (RuntimeError("Rate limit exceeded"), "RATE_LIMITED"),
    (SDKError("boom", code="model_not_found"), "MODEL_NOT_FOUND"),
    (RuntimeError("the table has 4291 rows"), "INTERNAL"),
    (ValueError("Rate limit exceeded"), "INTERNAL"),
    (KeyError("timeout"), "INTERNAL"),
    (FileNotFoundError(errno.ENOENT, "boom", "/srv/timeout"), "INTERNAL"),
    (PermissionError(errno.EACCES, "boom"), "INTERNAL"),
    (ZeroDivisionError("division by zero"), "INTERNAL"),
    (Exception(), "INTERNAL"),
    (KeyboardInterrupt(), "INTERNAL"),
]


@pytest.mark.parametrize(
    ("exc", "code"), EXCEPTIONS, ids=lambda value: value if isinstance(value, str) else repr(value)
)
def test_each_exception_has_its_class(exc: BaseException, code: str) -> None:
    assert classify_exception(exc) == error_info(code)


def test_retry_after_of_an_sdk_is_kept() -> None:
    assert classify_exception(http_status_error(429, retry_after="3")).retry_after_ms == 3000
    assert classify_exception(http_status_error(500, retry_after="3")).retry_after_ms is None


def test_text_of_an_exception_shows_in_debug_only_and_redacted() -> None:
    exc = RuntimeError("no host 10.0.0.5")
    assert "host" not in repr(classify_exception(exc))
    assert classify_exception(exc, debug=True).details == {
        "exception": "RuntimeError",
        "message": "no host [redacted]",
    }
    assert classify_exception(StatedError(), debug=True).details == {"plan": "free"}


def test_ring_of_causes_ends() -> None:
    first, second = RuntimeError(), RuntimeError()
    first.__cause__, second.__cause__ = second, first
    assert classify_exception(first).code == "INTERNAL"


def _boom(*_: object) -> Any:
    raise RuntimeError("boom")


HOSTILE = {
    "text": {"__str__": _boom},
    "repr": {"__repr__": _boom, "__str__": _boom},
    "every attribute": {"__getattribute__": _boom},
    "class": {"__class__": property(_boom)},
    "cause": {"__cause__": property(_boom)},
    "status": {"status_code": property(_boom)},
    "response": {"response": property(_boom)},
    "number": {"status": type("Number", (int,), {"__le__": _boom, "__ge__": _boom, "__hash__": _boom})(429)},
    "cause of a strange kind": {"__cause__": "TimeoutError"},
    "members of a strange kind": {"exceptions": 5},
    "module": {"__module__": 5},
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_hostile_exception_breaks_nothing(members: dict[str, Any]) -> None:
    for debug in (False, True):
        info = classify_exception(type("Hostile", (Exception,), members)("boom"), debug=debug)
        assert info.code == "INTERNAL"
        assert msgspec.json.encode(info)


def test_hostile_text_does_not_hide_the_type() -> None:
    assert classify_exception(type("Slow", (TimeoutError,), {"__str__": _boom})()).code == "UPSTREAM_TIMEOUT"


@pytest.mark.parametrize(("code", "fails"), [("-5", True), ("--5", False), ("²", False), ("-", False)])
def test_code_that_is_nearly_a_number_is_a_failure_or_not(code: str, fails: bool) -> None:
    assert (failure_in_body({"code": code, "message": "x"}) is not None) == fails
