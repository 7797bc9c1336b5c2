"""Finds the cause of a failure in its message. Words are the weakest evidence and need a clear context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from streamweir.classification.statuses import code_of_status
from streamweir.lazy_pattern import LazyPattern

__all__ = ["code_of_words"]

_LONGEST_MESSAGE: Final = 4096  # the subject of a message is at its beginning


def _words(pattern: str) -> LazyPattern[str]:
    return LazyPattern(pattern, re.ASCII | re.IGNORECASE)


_WORDS: Final[tuple[tuple[str, LazyPattern[str]], ...]] = (
    (
        "QUOTA_EXCEEDED",
        _words(
            r"\binsufficient[ _](?:quota|balance|funds|credits?)\b|\bout of (?:quota|credits?)\b"
            r"|\bquota\b[^\n]{0,60}?\b(?:exceeded|exhausted|used up|reached)\b"
            r"|\b(?:exceed(?:ed|s)?|exhausted|no|not enough)\b(?: \w{1,20}){0,4} quota\b(?! of\b)"
            r"|\bcredit balance (?:is too low|(?:is )?exhausted)\b|\bbilling (?:hard )?limit\b"
            r"|\brequires more credits\b|\b(?:used all|exceeded)(?: \w{1,20}){0,3} credits\b"
            r"|\bspending limit\b|\barrear(?:s|age)\b"
            r"|配额(?:不足|已|超)|余额不足|额度(?:不足|已)|欠费"
        ),
    ),
    (
        "CONTEXT_LENGTH_EXCEEDED",
        _words(
            r"\bcontext[ _-]?(?:length|window|limit|size\b)"
            r"|\bmaximum (?:context|(?:prompt|input|sequence|model) length)\b"
            r"|\b(?:prompt|input|conversation) is too long\b"
            # those of a minute or a day are a rate
            r"|\btoo many (?:input |prompt )?tokens\b(?! per\b|, please wait\b)"
            r"|`?inputs`? tokens \+ `?max_new_tokens`? must be\b"
            r"|\b(?:exceeds?|over) the maximum number of (?:input )?tokens\b"
            r"|\btokens? limit (?:exceeded|reached)\b|\breduce the length of the messages\b"
            r"|\binput length should be\b"
            r"|上下文(?:长度)?(?:过长|超)|输入(?:内容|文本)?(?:过长|超长)"
        ),
    ),
    (
        "MODEL_NOT_FOUND",
        _words(
            # quoted, or with a character that no word has: "model parameters not found" is about a file
            r"\bmodel[\s:]{1,3}(?:[`'\"][\w./:@-]{1,120}[`'\"]|(?=[\w@]{0,40}[\d./:-])[\w./:@-]{1,120})[\s:,]{1,3}"
            r"(?:(?:is|was|has been|have been) )?(?:not found|does not exist|doesn't exist|not exist)\b"
            r"|\bmodel[\s:]{1,3}[`'\"]?[\w./:@-]{1,120}[`'\"]? (?:(?:is|was|has been) )?"
            r"(?:decommissioned|no longer available|not supported|does not exist|doesn't exist)\b"
            r"|\bmodels/[\w.-]{1,120} is not found\b"
            r"|\bmodel(?:[ _]not[ _]found|[ _]not[ _]exist| does(?: not|n't) exist)"
            r"|\b(?:no such|unknown) model\b|\binvalid model(?: name\b|:? ['\"`]|: (?=\S{0,60}[-\d/])\S)"
            r"|\bmodel identifier(?: is invalid\b|\.)|\bis not a valid model id\b"
            r"|\bno endpoints found for \S{1,120}/\S"
            r"|\bapi deployment for this resource does not exist\b|\A\W{0,3}model: [\w./:@-]{1,120}\W{0,3}\Z"
            r"|模型[^\n]{0,60}?不存在"
        ),
    ),
    (
        "CONTENT_FILTERED",
        _words(
            r"\bcontent[ _-]?filter(?!s?[ ](?:is|on|of|for|column)\b)|\bresponsible ?ai ?(?:policy|\b)"
            r"|\bcontent management policy\b|\bcontent[ _-]?policy[ _-](?:violat|block)\w{0,10}"
            r"|\b(?:violat|trigger|block|reject|filter)\w{0,5}\b[^\n]{0,80}?"
            r"\bcontent[ _-]policy\b"
            r"|\b(?:flagged|rejected|blocked|refused|withheld)\b[^\n]{0,40}?\b(?:safety|moderation)\b"
            r"|\bsafety filters?\b|\bfinish_?reason\W{1,4}safety\b|\binappropriate content\b"
            r"|\bcontent exists risk\b|\bdata_?inspection_?failed\b|内容(?:审核|安全)|敏感(?:词|内容)"
        ),
    ),
    (
        "AUTH_FAILED",
        _words(
            r"\bunauthori[sz]ed\b|\b(?:invalid|incorrect|missing|expired|wrong)[ _](?:x-)?api[ _-]?key\b"
            r"|\bapi[ _-]?key(?: \w{1,20}){0,2} (?:invalid|incorrect|missing|expired|not valid|must be set)\b"
            r"|\bapi key not found\b|\binvalid subscription key\b|\bsecurity token included in the request\b"
            r"|\bprovide an api key\b|\bno auth credentials\b|\bpermissiondenied(?:error)?\b"
            r"|\bauthentication[ _]?(?:error|fail(?:ed|s|ure))\b|\b(?:failed to authenticate|auth failed)\b"
            r"|\binvalid (?:credentials|authentication)\b|\bnot authenticated\b"
            r"|\bcould not validate credentials\b|\btoken (?:has |is )?expired\b"
            # parsers say the position of the token
            r"|\binvalid (?:access|auth|authorization|bearer|jwt) token\b|\A\W*invalid token\W*\Z"
            r"|认证失败|未授权|鉴权失败|身份验证失败|令牌(?:无效|已过期)|无效的令牌|无(?:访问)?权限"
            r"|\bapi[ _-]?key ?(?:无效|错误|不正确|已过期)"
        ),
    ),
    (
        "RATE_LIMITED",
        _words(
            r"\brate[ _-]?limit(?:s|ed|ing|error|exceeded|_exceeded|_error)?\b(?! steps?\b)"
            r"|\btoo many (?:concurrent |parallel )?requests\b|\brequests? (?:per \w{3,6} )?limit\b(?! of\b)"
            r"|\btoo many tokens\b|\bservice tier capacity exceeded\b"
            r"|\bthrottl(?:ed|ing)\b(?! (?:down|back|up)\b)|\bthrottlingexception\b|\bresource[ _]exhausted\b"
            r"|\bzu viele anfragen\b|\btrop de requ[eê]tes\b|\bdemasiadas solicitudes\b|リクエストが多すぎ"
            r"|请求(?:过于频繁|过多)|限流(?!器)|速率限制|频率(?:超限|过高|限制)"
        ),
    ),
    (
        "UPSTREAM_TIMEOUT",
        # the name of a setting is no evidence: "timeout must be positive", "timeout=30", "set a timeout"
        _words(
            r"\btimed[ -]out\b|(?<!set a )(?<!set the )\b[a-z]{0,40}time-?out(?:error|exception)?\b"
            r"(?!s? (?:must|should|value|of|is|setting)\b|=|: ?\d)|\bdeadline exceeded\b(?! expect)"
            r"|超时(?!空)"
        ),
    ),
    (
        "UPSTREAM_ERROR",
        _words(
            r"\bconnection (?:was )?(?:refused|reset|aborted|closed|error|failed)\b|\bunreachable\b"
            r"|\bconnect call failed\b|\bconnection attempts failed\b|\bname resolution\b"
            r"|\bname or service not known\b|\bserver disconnected\b|\binternal server error\b"
            r"|\bbad gateway\b|\bno healthy upstream\b|\bupstream connect error\b"
            r"|\bservice (?:is )?(?:temporarily )?unavailable\b|\boverloaded\b(?! with\b)"
            r"|服务器(?:内部)?错误|系统(?:繁忙|异常)|服务(?:不可用|繁忙)"
        ),
    ),
)
"""Patterns for each code. The first match wins, so exact causes precede causes that contain their words."""

_STATUS_IN_WORDS: Final = LazyPattern(
    # HTTP 429, HTTP/1.1 429, status_code: 429, 'code': '429', error code 429
    r"\b(?i:http(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|(?:error|response)[ _-]?code|code(?=\W{0,2}[:=]))"
    r"[\"']?[ ]?[:=(]?[ ]?[\"']?([45]\d\d)(?!\w|[.,]\d)"
    # returned 429, received 429 from upstream; but not "returned 429 rows"
    r"|\b(?i:returned|received|got|failed with|responded with)(?: an?)?(?i:[ ]status)? ([45]\d\d)"
    r"(?= (?:from|for)\b|[^\w.,]*\Z|[.,:;](?!\d))"
    # "429 Too Many Requests", "Error: 429 - ...": at the beginning or after "error", without a unit
    r"|(?:\A|\b(?i:error):? )\W{0,3}([45]\d\d)(?= ?(?:\Z|[^\w\s.,%]|[.,](?!\d)|[A-Z][a-z]))",
    re.ASCII,
)


@cache
def _statuses_by_phrase() -> dict[str, int]:
    """Return statuses by the default messages of frameworks, which count only as the whole message."""
    from http import HTTPStatus  # noqa: PLC0415 - only for failures

    phrases = {
        form: status.value
        for status in HTTPStatus
        if status >= HTTPStatus.BAD_REQUEST
        for form in (status.phrase.lower(), f"{status.value} {status.phrase.lower()}")
    }
    return phrases | {"404 page not found": 404}


def code_of_words(message: object) -> str | None:
    """Return the code that the words of `message` indicate; None if they indicate no cause."""
    text = _text(message)[:_LONGEST_MESSAGE]
    for code, pattern in _WORDS:
        if pattern.search(text):
            return code
    if phrase := _statuses_by_phrase().get(text.strip(" .!\n").lower()):
        return code_of_status(phrase)
    status = _STATUS_IN_WORDS.search(text)
    return code_of_status(next(filter(None, status.groups()))) if status else None


def _text(message: object) -> str:
    """Return the text of a message, which may be an object; empty if there is no text."""
    if isinstance(message, Mapping):
        message = next(
            (message[key] for key in ("message", "msg", "detail", "error") if key in message), None
        )
    return message if isinstance(message, str) else ""
