"""What says that something failed, whoever wrote it: names, states, fields in any spelling, stack traces.

Nothing here knows a dialect. A name or a key is judged by its words, for the same field is `stackTrace`,
`stack_trace` and `STACKTRACE`. Everything is looked at once, so that the time is in proportion to the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, TypeGuard

from streamweir.classification.stack_traces import is_stack_trace
from streamweir.classification.statuses import code_of_status

__all__ = [
    "FAILED",
    "NOTHING",
    "field_name",
    "has_failure_sign",
    "is_failing_name",
    "may_name_failure",
    "reports_failure",
]


def _words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


FAILED: Final = frozenset({"error", "errored", "err", "fail", "failed", "failure", "exception"})
"""The states of what has failed."""

NOTHING: Final = frozenset(
    {"", "0", "false", "none", "null", "ok", "success", "no error", "成功", "操作成功"}
    | {"no", "nil", "n/a", "na", "undefined", "[]", "{}", "-", "noerror", "no_error", "no errors"}
)
"""What a field for an error says where there is none, in lower case."""

# --- names ---

_FAILING_NAME: Final = re.compile(
    r"err(?:or|ored|_|$)|_err|fail|exception|traceback|stack_?trace|back_?trace|warning|fatal|panic|crash|timed_?out|aborted"
    r"|失败|失敗|错误|錯誤|异常|異常|出错|エラー|오류|실패|ошибк",
    re.IGNORECASE,
)
_STEM: Final = re.compile(_FAILING_NAME.pattern.replace("err(?:or|ored|_|$)|_err", "err"), re.IGNORECASE)
_LONGEST_NAME: Final = 256
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_failing_name(name: str) -> bool:
    """Does the name of an event or a step speak of a failure? `nodeError`, `step.failed`, `ERR_TIMEOUT`."""
    return _FAILING_NAME.search(_HUMP.sub("_", name[:_LONGEST_NAME])) is not None


def may_name_failure(text: str) -> bool:
    """Can a name in `text` be a failing one? Quick, and sure where it is not."""
    return _STEM.search(text) is not None


# --- fields ---

_NO_LETTER: Final = re.compile(r"[\W_]+")
_ERROR_FIELD: Final = re.compile(
    r"(?:err|error|exc|exception|failure|failed|fail|fault|traceback|tb|stack|trace|backtrace|callstack|panic|crash)s?"
    r"(?:msg|message|text|str|string|detail|code|type|info|name|class|description|desc|reason|stack|trace|value"
    r"|kind|log|output|data|body|cause|line|no|number|obj|object|list|event|back|dump|frame|kind){0,3}s?"
)
"""A field for an error, its words run together: `errmsg`, `excinfo`, `stacktrace`, `errorMessage`."""
_LONGEST_FIELD: Final = 64
_ERROR_STEM: Final = re.compile("err|exc|fail|fault|trace|stack|panic|crash|tb")
"""Part of every name that `_ERROR_FIELD` or `_ERROR_WORDS` knows."""
_ERROR_WORDS: Final = _words_in(
    "err errs error errors exception exceptions exc traceback stacktrace backtrace callstack"
    " failure failures failed fault panic crash errmsg errormsg errormessage"
)
_SETTINGS: Final = _words_in("on if ignore max handle raise allow no without standard")
"""`on_error: continue` is a setting."""
_FIGURES: Final = _words_in(
    "bar bars band rate rates margin count counts estimate tolerance metric metrics"
    " handling handler policy budget analysis function threshold percentage probability"
)
"""`error_bars` belong to a chart."""
_NUMBERED: Final = _words_in("err error fault exception failure code no number num type id errno status")
"""`error_code: 5` is an error, `error_rate: 0.2` a figure."""
_OFTEN_NO_TRACE: Final = _words_in("trace tracedata traceinfo tracename stackname")
"""Of these only a text that is a stack trace counts."""

_FAILED_FLAGS: Final = _words_in("failed errored crashed aborted timedout killed")
_EXIT_CODES: Final = _words_in("exitcode exitstatus returncode")
_FLAGS: Final = _words_in("ok success succeeded successful issuccess issuccessful isok")
_NO: Final = _words_in("false no 0")
_STATES: Final = _words_in("status state outcome conclusion phase verdict health 状态 狀態 状態") | {
    f"{of}{word}"
    for of in _words_in(
        "final run execution exec node step task job tool call agent workflow flow process end"
    )
    for word in ("status", "state")
}
_KINDS: Final = _words_in("type event eventtype kind code")
_OWN_KINDS: Final = _words_in("name class category action result")
"""Of the event itself; further in they are those of columns and files."""
_STATE_WORDS: Final = re.compile(
    r"(?:\A|_)(?:err|errs|error|errors|errored|fail|fails|failed|failing|failure|exception|crash|crashed|fatal|panic"
    r"|panicked|abort|aborted|unsuccessful|broken|timeout|timedout|timed_out|nok|ko|dead|killed|oom)(?:\Z|_)"
    r"|失败|失敗|错误|錯誤|异常|異常|出错|エラー|오류|실패|ошибка"
)
_LONGEST_STATE: Final = 64
_IDENTIFIER: Final = re.compile(r"\S{1,64}")

_LEVELS: Final = _words_in("level severity loglevel levelname severitytext lvl priority")
_ERROR_LEVELS: Final = _words_in("error err critical crit fatal severe alert emergency emerg panic failure")
_LEVEL_NUMBERS: Final = frozenset({40, 50, 60})
"""Of Python's logging, as `levelno`."""

_HTTP_STATUSES: Final = _words_in(
    "status statuscode httpstatus httpstatuscode httpcode code errorcode errcode"
    " responsestatus responsecode responsestatuscode retcode"
)


def field_name(key: object) -> str:
    """Return the key of a field without its case and what separates its words."""
    name = str(key)[: 2 * _LONGEST_FIELD].lower()
    return name if name.isascii() and name.isalnum() else _NO_LETTER.sub("", name)


def _is_own_sign(key: str, name: str, value: Any) -> bool:
    """Does this field of an event itself, `name` by its `field_name`, say that something failed?"""
    is_kind = name in _OWN_KINDS
    return (is_kind and _is_failing_state(value, is_sentence_allowed=False)) or _is_sign(key, name, value)


def _is_sign(key: str, name: str, value: Any) -> bool:
    """Does this field, of an event or of an object in it, say that something failed?"""
    if name in _FLAGS:
        return value is False or _word(value) in _NO or (value == 0 and isinstance(value, int))
    if name in _STATES or name in _KINDS:
        if _is_failing_state(value, is_sentence_allowed=name in _STATES):
            return True
    elif name in _LEVELS:
        return _word(value) in _ERROR_LEVELS
    elif name == "levelno":
        return value in _LEVEL_NUMBERS if isinstance(value, int) else False
    if name in _HTTP_STATUSES and code_of_status(value):
        return True
    if name in _FAILED_FLAGS and (value is True or value == 1):
        return True
    if name in _EXIT_CODES:
        return type(value) is int and value != 0
    if not name.isascii() and is_failing_name(key):
        return _is_something(value)
    return bool(_ERROR_STEM.search(name)) and _is_something(value) and _is_error_field(key, name, value)


def _is_error_field(key: str, name: str, value: Any) -> bool:
    if name in _OFTEN_NO_TRACE:
        return False
    words = _words(str(key))
    if (words[0] in _SETTINGS and len(words) > 1) or not _FIGURES.isdisjoint(words):
        return False
    if not (_ERROR_FIELD.fullmatch(name) or not _ERROR_WORDS.isdisjoint(words)):
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return not is_number or (_NUMBERED.issuperset(words) or name in ("errorcode", "errcode", "errno"))


def _words(name: str) -> list[str]:
    return _NO_LETTER.sub(" ", _HUMP.sub(" ", name[: 2 * _LONGEST_FIELD]).lower()).split() or [""]


def _is_failing_state(value: Any, *, is_sentence_allowed: bool) -> bool:
    if not isinstance(value, str) or len(value) > _LONGEST_STATE:
        return False
    if not is_sentence_allowed and not _IDENTIFIER.fullmatch(value):
        return False
    return _STATE_WORDS.search("_".join(_words(value)) if value.isascii() else value.lower()) is not None


def _is_something(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > _LONGEST_STATE or _word(value) not in NOTHING
    return bool(value)


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) and len(value) <= _LONGEST_STATE else ""


# --- values ---

_CARRIERS: Final = ("data", "value", "payload", "detail", "body", "event", "result", "output", "update")
_CARRIED: Final = 4
"""An envelope in an envelope: so many are opened to find what an event says itself."""
_TABLES: Final = _words_in("rows columns records table tables series values")
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_NO_OBJECTS: Final = _PLAIN | {list}
_MOST_FIELDS: Final = 4096
_MOST_CHARACTERS: Final = 256 << 10
_SHORTEST_TRACE: Final = 24
"""No shorter key of a field is looked at for a stack trace."""


def has_failure_sign(fields: Mapping[str, Any]) -> bool:
    """Does an object say itself, by a field of its own, that something failed?"""
    return any(_is_sign(key, field_name(key), item) for key, item in islice(fields.items(), _MOST_FIELDS))


def reports_failure(value: Any) -> bool:
    """Does a JSON value report a failure, by a field (also one level down) or by a text that is a trace?

    Of thousands of fields or long texts the first are looked at: no report of a failure has so many.
    """
    if not value:
        return False
    own = _opened(_objects_of(value))
    inner = _opened(chain.from_iterable(map(_objects_in, own)))
    return (
        any(_is_own_sign(key, field_name(key), item) for key, item in _fields_of(own))
        or any(_is_sign(key, field_name(key), item) for key, item in _fields_of(inner))
        or _holds_a_trace(value)
    )


def _holds_a_trace(value: Any) -> bool:
    left = _MOST_CHARACTERS
    for text in islice(_texts(value), _MOST_FIELDS):
        if is_stack_trace(text):
            return True
        left -= len(text)
        if left < 0:
            break
    return False


def _opened(objects: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return these objects and what they carry, envelope in envelope."""
    found: list[Mapping[str, Any]] = []
    level = list(islice(objects, _MOST_FIELDS))
    for _ in range(_CARRIED):
        if not level:
            break
        found += level
        carried = (item[name] for item in level for name in _CARRIERS if name in item)
        level = list(islice(chain.from_iterable(map(_objects_of, carried)), _MOST_FIELDS))
    return found


def _objects_in(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects one level down; the rows of a table are no events."""
    held = [(name, item) for name, item in value.items() if type(item) not in _PLAIN]
    for name, item in held:
        if name not in _TABLES:
            yield from _objects_of(item)


def _fields_of(objects: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    return islice(chain.from_iterable(found.items() for found in objects), _MOST_FIELDS)


def _objects_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the object that `value` is, or those in the list that it is."""
    for item in value if isinstance(value, list) else (value,):
        if _is_object(item):
            yield item


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Is it one? What JSON has is known by its type: to ask about `Mapping` takes ten times as long."""
    kind = type(value)
    return kind is dict or (kind not in _NO_OBJECTS and isinstance(value, Mapping))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of `value`, however deep, level by level; keys too if they are longer than a name."""
    level = [value]
    while level:
        yield from (item for item in level if isinstance(item, str))
        level = list(islice(chain.from_iterable(map(_inner, level)), _MOST_FIELDS))


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    return chain(value.values(), filter(_may_be_trace, value)) if _is_object(value) else ()


def _may_be_trace(key: object) -> bool:
    """Is the key of a field long enough to be a stack trace?"""
    return isinstance(key, str) and len(key) > _SHORTEST_TRACE
