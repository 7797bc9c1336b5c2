"""Signs of a failure, independent of dialects: names, states, fields and stack traces.

Names and keys are judged by their words: `stackTrace`, `stack_trace` and `STACKTRACE` are one field. Each
value is read once, so that the time is in proportion to its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final, TypeGuard

from streamweir.classification.stack_traces import SHORTEST_TRACE, is_stack_trace
from streamweir.classification.statuses import code_of_status
from streamweir.lazy_pattern import LazyPattern

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
"""Words for the state of a failed step."""

NOTHING: Final = frozenset(
    {"", "0", "false", "none", "null", "ok", "success", "no error", "成功", "操作成功"}
    | {"no", "nil", "n/a", "na", "undefined", "[]", "{}", "-", "noerror", "no_error", "no errors"}
)
"""Values of an error field that mean that there is no error, in lower case."""

# --- names ---

_FAILING_NAME: Final = LazyPattern(
    r"err(?:or|ored|_|$)|_err|fail|exception|traceback|stack_?trace|back_?trace|warning|fatal|panic|crash|timed_?out|aborted"
    r"|失败|失敗|错误|錯誤|异常|異常|出错|エラー|오류|실패|ошибк",
    re.IGNORECASE,
)
_STEM: Final = LazyPattern(_FAILING_NAME.pattern.replace("err(?:or|ored|_|$)|_err", "err"), re.IGNORECASE)
_LONGEST_NAME: Final = 256
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_failing_name(name: str) -> bool:
    """Return whether a name is of a failed event or step, as `nodeError`, `step.failed`, `ERR_TIMEOUT`."""
    return _is_failing_word(name) if len(name) <= _LONGEST_FIELD else _holds_failing_word(name)


@lru_cache(maxsize=256)
def _is_failing_word(name: str) -> bool:
    """Return `is_failing_name` of a short name; cached, because the events of a stream have few names."""
    return _holds_failing_word(name)


def _holds_failing_word(name: str) -> bool:
    return _FAILING_NAME.search(_HUMP.sub("_", name[:_LONGEST_NAME])) is not None


def may_name_failure(text: str) -> bool:
    """Return False if `text` surely contains no name of a failure; True means that it may contain one."""
    return _STEM.search(text) is not None


# --- fields ---

_NO_LETTER: Final = re.compile(r"[\W_]+")
_ERROR_FIELD: Final = LazyPattern(
    r"(?:err|error|exc|exception|failure|failed|fail|fault|traceback|tb|stack|trace|backtrace|callstack|panic|crash)s?"
    r"(?:msg|message|text|str|string|detail|code|type|info|name|class|description|desc|reason|stack|trace|value"
    r"|kind|log|output|data|body|cause|line|no|number|obj|object|list|event|back|dump|frame|kind){0,3}s?"
)
"""Matches the key of an error, without separators: `errmsg`, `excinfo`, `stacktrace`, `errormessage`."""
_LONGEST_FIELD: Final = 64
_ERROR_STEM: Final = LazyPattern("err|exc|fail|fault|trace|stack|panic|crash|tb")
"""Matches a part that every match of `_ERROR_FIELD` or `_ERROR_WORDS` contains."""
_ERROR_WORDS: Final = _words_in(
    "err errs error errors exception exceptions exc traceback stacktrace backtrace callstack"
    " failure failures failed fault panic crash errmsg errormsg errormessage"
)
_SETTINGS: Final = _words_in("on if ignore max handle raise allow no without standard")
"""First words of names of settings, such as `on_error: continue`."""
_FIGURES: Final = _words_in(
    "bar bars band rate rates margin count counts estimate tolerance metric metrics"
    " handling handler policy budget analysis function threshold percentage probability"
)
"""Words in names of figures, such as `error_bars` of a chart."""
_NUMBERED: Final = _words_in("err error fault exception failure code no number num type id errno status")
"""Words in names of fields whose number means an error: `error_code: 5`, but not `error_rate: 0.2`."""
_OFTEN_NO_TRACE: Final = _words_in("trace tracedata traceinfo tracename stackname")
"""Fields that count only if their text is a stack trace."""

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
"""Fields that name the kind of an event; in inner objects they name columns and files instead."""
_STATE_WORDS: Final = LazyPattern(
    r"(?:\A|_)(?:err|errs|error|errors|errored|fail|fails|failed|failing|failure|exception|crash|crashed|fatal|panic"
    r"|panicked|abort|aborted|unsuccessful|broken|timeout|timedout|timed_out|nok|ko|dead|killed|oom)(?:\Z|_)"
    r"|失败|失敗|错误|錯誤|异常|異常|出错|エラー|오류|실패|ошибка"
)
_LONGEST_STATE: Final = 64
_IDENTIFIER: Final = LazyPattern(r"\S{1,64}")

_LEVELS: Final = _words_in("level severity loglevel levelname severitytext lvl priority")
_ERROR_LEVELS: Final = _words_in("error err critical crit fatal severe alert emergency emerg panic failure")
_LEVEL_NUMBERS: Final = frozenset({40, 50, 60})
"""Values of `levelno` in Python's logging that mean an error."""

_HTTP_STATUSES: Final = _words_in(
    "status statuscode httpstatus httpstatuscode httpcode code errorcode errcode"
    " responsestatus responsecode responsestatuscode retcode"
)


def field_name(key: object) -> str:
    """Return a key in lower case, without the separators of its words."""
    name = str(key)[: 2 * _LONGEST_FIELD].lower()
    return name if name.isascii() and name.isalnum() else _NO_LETTER.sub("", name)


def _is_own_sign(key: str, name: str, value: Any) -> bool:
    """Return whether a field at the top of an event reports a failure; `name` is its `field_name`."""
    is_kind = name in _OWN_KINDS
    return (is_kind and _is_failing_state(value, is_sentence_allowed=False)) or _is_sign(key, name, value)


def _is_sign(key: str, name: str, value: Any) -> bool:
    """Return whether a field of an event, or of an object in the event, reports a failure."""
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


_SIGNS: Final = frozenset().union(
    *(_OWN_KINDS, _FLAGS, _STATES, _KINDS, _LEVELS, {"levelno"}, _HTTP_STATUSES, _FAILED_FLAGS, _EXIT_CODES)
)
"""The names of fields, other than error fields, whose value can be a sign of a failure."""


@lru_cache(maxsize=256)
def _can_be_own_sign(key: str) -> bool:
    """Return False if `_is_own_sign` is False for every value of a field with this name."""
    name = field_name(key)
    return name in _SIGNS or _ERROR_STEM.search(name) is not None or not name.isascii()


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
"""The most nested envelopes that are opened."""
_TABLES: Final = _words_in("rows columns records table tables series values")
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_NO_OBJECTS: Final = _PLAIN | {list}
_MOST_FIELDS: Final = 4096
_FEW_FIELDS: Final = 32
_MOST_CHARACTERS: Final = 256 << 10
_LONGEST_KEY: Final = 24
"""The longest key, in characters, that is not searched for a stack trace."""


def has_failure_sign(fields: Mapping[str, Any]) -> bool:
    """Return whether a field of this object reports a failure; fields of inner objects do not count."""
    for key, item in islice(fields.items(), _MOST_FIELDS):
        can_be = type(key) is not str or len(key) > _LONGEST_KEY or _can_be_own_sign(key)
        if can_be and _is_sign(key, field_name(key), item):
            return True
    return False


def reports_failure(value: Any) -> bool:
    """Return whether a JSON value reports a failure, by a field (also one level down) or by a trace.

    Only the first few thousand fields and the first texts are read, because no report of a failure has more.
    """
    if not value:
        return False
    if type(value) is dict and (found := _flat_object_reports(value)) is not None:
        return found
    own = _opened(_objects_of(value))
    inner = _opened(chain.from_iterable(map(_objects_in, own)))
    return (
        any(_is_own_sign(key, field_name(key), item) for key, item in _fields_of(own))
        or any(_is_sign(key, field_name(key), item) for key, item in _fields_of(inner))
        or _holds_a_trace(value)
    )


def _flat_object_reports(value: dict[str, Any]) -> bool | None:
    """Return `reports_failure` of an object with few fields and no object or list inside; else None."""
    if len(value) > _FEW_FIELDS:
        return None
    for key, item in value.items():
        if type(key) is not str or len(key) > _LONGEST_KEY:
            return None
        kind = type(item)
        if kind is str:
            if len(item) >= SHORTEST_TRACE and is_stack_trace(item):
                return True
        elif kind not in _PLAIN:
            return None
        if _can_be_own_sign(key):
            is_word = kind is str and len(item) <= _LONGEST_STATE
            if _is_own_word(key, item) if is_word else _is_own_sign(key, field_name(key), item):
                return True
    return False


@lru_cache(maxsize=256)
def _is_own_word(key: str, word: str) -> bool:
    """Return `_is_own_sign` of a short text; cached, because words such as `running` are frequent."""
    return _is_own_sign(key, field_name(key), word)


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
    """Return these objects, and the objects in their envelopes."""
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
    """Yield the objects one level down, without the rows of tables."""
    held = [(name, item) for name, item in value.items() if type(item) not in _PLAIN]
    for name, item in held:
        if name not in _TABLES:
            yield from _objects_of(item)


def _fields_of(objects: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    return islice(chain.from_iterable(found.items() for found in objects), _MOST_FIELDS)


def _objects_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield `value` if it is an object, or the objects in it if it is a list."""
    for item in value if isinstance(value, list) else (value,):
        if _is_object(item):
            yield item


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether `value` is an object. JSON types are tested first: `Mapping` takes ten times as long."""
    kind = type(value)
    return kind is dict or (kind not in _NO_OBJECTS and isinstance(value, Mapping))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in `value`, level by level, and all keys that are too long to be names."""
    level = [value]
    while level:
        yield from (item for item in level if isinstance(item, str))
        level = list(islice(chain.from_iterable(map(_inner, level)), _MOST_FIELDS))


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    return chain(value.values(), filter(_may_be_trace, value)) if _is_object(value) else ()


def _may_be_trace(key: object) -> bool:
    """Return whether the key of a field is long enough to be a stack trace."""
    return isinstance(key, str) and len(key) > _LONGEST_KEY
