"""Reads failures from JSON bodies, in the shapes that servers, frameworks and gateways write.

This module is independent of dialects. Keys are compared without case, underscores and hyphens, so that
`errorCode`, `error_code` and `ErrorCode` are one field. An object is a failure if it states this explicitly
(`error`, `success: false`, `status: "error"`, an HTTP error status). A bare number, name or text means a
failure only if no other field looks like an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from streamweir.classification.failure_signs import FAILED, NOTHING, field_name
from streamweir.classification.failures import code_of_name, is_conclusive_code
from streamweir.classification.statuses import code_of_status
from streamweir.classification.words import code_of_words
from streamweir.lazy_pattern import LazyPattern

__all__ = ["FailureInBody", "error_in_body", "failure_in_body"]


class FailureInBody(msgspec.Struct, frozen=True, kw_only=True):
    """The failure that a body reports, in the words of its server."""

    message: str | None = None
    code: object = None
    status: int | None = None
    """The HTTP status that the body names; None if it names none."""
    recoverable: bool | None = None
    """Whether the body states that another attempt may succeed; None if it does not say."""
    retry_after_ms: int | None = None


T = TypeVar("T")

_Fields = Mapping[str, Any]

_NAMED: Final = ("error", "errors", "fault", "exception")
"""Keys whose value is the failure, given as a text or an object."""

_TEXTS: Final = (
    *("message", "msg", "detail", "errormessage", "errormsg", "errmsg", "errordescription", "retmsg"),
)
_LESSER_TEXTS: Final = ("description", "reason", "faultstring", "title")
_CODES: Final = ("code", "errorcode", "errcode", "type", "status")
_STATUSES: Final = ("statuscode", "httpstatus", "httpcode", "status", "code")
_ERROR_CODES: Final = ("errorcode", "errcode", "errno", "retcode")
_FLAGS: Final = ("success", "ok", "succeeded")
_RETRY: Final = ("retry", "recoverable", "retryable")

_ANSWERS: Final = frozenset(
    {"answer", "choices", "content", "data", "items", "output", "outputs", "response", "result", "results"}
    | {"rows", "text", "value", "values", "delta", "payload"}
)
_BESIDE_A_TEXT: Final = frozenset(
    {*_CODES, *_STATUSES, *_TEXTS, *_LESSER_TEXTS, "instance", "path", "requestid", "timestamp", "traceid"}
)
"""Keys that may accompany a bare text of a failure."""

_FAILING_NAME: Final = LazyPattern(
    r"error|exception|fail|invalid|denied|unauthor|unauthenticated|forbidden|exceed|limit|throttl|timeout"
    r"|timed_?out|not_?found|unavailable|overload|quota|arrear",
    re.IGNORECASE,
)
_NAME: Final = LazyPattern(r"[A-Za-z][\w.:-]{1,127}", re.ASCII)
_ZERO: Final = frozenset({0})
_SUCCESSES: Final = frozenset({0, 1, 10000, 20000})
"""Numbers of a field `code` that mean success, in addition to HTTP statuses."""

_MOST_FIELDS: Final = 64
"""The most fields of an error body. Larger objects are not searched."""

_NUMBER: Final = LazyPattern(r"-?\d{1,16}", re.ASCII)
_LONGEST_RETRY_MS: Final = 24 * 3600 * 1000


def failure_in_body(value: object) -> FailureInBody | None:
    """Return the failure that a JSON body reports; None if it reports no failure."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or len(value) > _MOST_FIELDS:
        return None
    fields = _fields(value)
    if not (_states_failure(fields) or (_looks_like_it(fields) and not any(map(fields.get, _ANSWERS)))):
        return None
    return _failure(fields)


def error_in_body(value: object) -> tuple[object, object]:
    """Return the message and the code of a body that is an error; None for each that is missing."""
    if not isinstance(value, dict):
        return None, None
    found = _failure(_fields(value))
    return found.message, found.code


def _failure(fields: _Fields) -> FailureInBody:
    places = (*_nested(fields), fields)
    messages = _each(places, _texts)
    codes = _each(places, _codes)
    return FailureInBody(
        message="\n".join(messages) or None,
        code=next(filter(is_conclusive_code, codes), next(iter(codes), None)),
        status=next(filter(None, map(_status, places)), None),
        recoverable=next(
            (fields[name] for fields in places for name in _RETRY if isinstance(fields.get(name), bool)), None
        ),
        retry_after_ms=next((ms for ms in map(_retry_after_ms, places) if ms is not None), None),
    )


def _fields(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {field_name(key): item for key, item in value.items()}


def _nested(fields: _Fields, depth: int = 3) -> Iterator[_Fields]:
    """Yield the inner objects that describe the failure, innermost first; of a list only the first item."""
    for name in (*_NAMED, "detail") if depth else ():
        value = fields.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            inner = _fields(value)
            yield from _nested(inner, depth - 1)
            yield inner


def _each(places: Iterable[_Fields], read: Callable[[_Fields], Iterable[T]]) -> list[T]:
    """Return the results of `read` for all places, without duplicates."""
    found = [item for fields in places for item in read(fields)]
    return [item for index, item in enumerate(found) if item not in found[:index]]


def _texts(fields: _Fields) -> Iterator[str]:
    """Yield the possible texts of a failure, including a text in the place of its name."""
    texts = (fields.get(name) for name in (*_TEXTS, *_LESSER_TEXTS))
    if text := next((text for text in texts if isinstance(text, str) and text.strip()), None):
        yield text
    for name in _NAMED:
        items = fields.get(name)
        for item in items[:1] if isinstance(items, list) else (items,):
            if isinstance(item, str) and item.lower() not in NOTHING:
                yield item


def _codes(fields: _Fields) -> Iterator[object]:
    """Yield the possible codes of a failure. `error` is the code if another field has the text."""
    for name in (*_CODES, *_NAMED):
        value = fields.get(name)
        is_name = isinstance(value, str) and _NAME.fullmatch(value) and value.lower() not in FAILED
        if is_name or (isinstance(value, int) and not isinstance(value, bool)):
            yield value
    if isinstance(fields.get("loc"), list):  # the location in the request, as pydantic writes it
        yield "validation_error"


def _status(fields: _Fields) -> int | None:
    """Return the HTTP error status among the fields."""
    values = map(fields.get, _STATUSES)
    return next((int(value) for value in values if value is not None and code_of_status(value)), None)


def _retry_after_ms(fields: _Fields) -> int | None:
    for name, scale in (("retryafterms", 1), ("retryafter", 1000), ("retryafterseconds", 1000)):
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return min(round(value * scale), _LONGEST_RETRY_MS)
    return None


# Whether an object is a failure


def _states_failure(fields: _Fields) -> bool:
    """Return whether an object explicitly states that it is a failure."""
    return (
        any(_is_something(fields.get(name)) for name in _NAMED)
        or any(fields.get(name) is False for name in _FLAGS)
        or any(_word(fields.get(name)) in FAILED for name in ("status", "type", "object", "result", "state"))
        or (_status(fields) is not None and _has_text(fields))
    )


def _looks_like_it(fields: _Fields) -> bool:
    """Return whether an object can only be a failure."""
    if any(fields.get(name) is True for name in _FLAGS) or not _has_text(fields):
        return False
    if any(_is_failing_code(fields.get(name), _ZERO) for name in _ERROR_CODES):
        return True
    if "code" in fields:
        return _is_failing_code(fields["code"], _SUCCESSES)
    if any(_is_text(fields.get(name)) for name in ("errormessage", "errormsg", "errmsg")):
        return True
    if not fields.keys() <= _BESIDE_A_TEXT:
        return False
    # An object with a type is an unknown event, unless its text reports a failure.
    return "type" not in fields or bool(fields.get("detail")) or any(map(code_of_words, _texts(fields)))


def _is_something(value: object) -> bool:
    return bool(value) and not (isinstance(value, str) and _word(value) in NOTHING)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() not in NOTHING


def _has_text(fields: _Fields) -> bool:
    return any(_is_text(fields.get(name)) for name in (*_TEXTS, *_LESSER_TEXTS)) or bool(
        isinstance(fields.get("detail"), dict | list) and fields["detail"]
    )


def _is_failing_code(code: object, successes: frozenset[int]) -> bool:
    """Return whether `code` is a number that means a failure, or the name of a failure."""
    if isinstance(code, str) and _NUMBER.fullmatch(code):
        code = int(code)
    if isinstance(code, str):
        return bool(_NAME.fullmatch(code) and (_FAILING_NAME.search(code) or code_of_name(code)))
    if isinstance(code, bool) or not isinstance(code, int):
        return False
    return code not in successes and not 200 <= code <= 399


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else ""
