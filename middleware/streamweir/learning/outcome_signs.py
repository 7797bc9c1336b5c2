"""Signs of success and failure: flags, codes, states and errors, by name and value in any known language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from streamweir.classification.failure_signs import has_failure_sign, is_failing_name
from streamweir.learning.field_names import ARGUMENTS, ERROR_WORDS, RESULTS, plain, words_of
from streamweir.learning.foreign_words import english
from streamweir.learning.groups import PRESENT, Condition, is_a_name
from streamweir.learning.places import Place, places_in

__all__ = [
    "DEEPEST",
    "ID",
    "MOST_VALUES",
    "condition_of",
    "has_sentence",
    "is_failing_word",
    "is_tool_data",
    "kind_of",
    "may_show_outcome",
    "sign_of",
    "sign_of_word",
]

_FLAGS: Final = frozenset({"ok", "success", "succeeded", "successful", "issuccess", "issuccessful", "isok"})
_CODES: Final = frozenset(
    [
        *("code", "errorcode", "errcode", "errno", "retcode", "ret", "rc", "resultcode"),
        *("statuscode", "httpstatus", "httpcode", "exitcode", "returncode", "status", "state"),
    ]
)
_STATES: Final = frozenset(
    [
        *("status", "state", "outcome", "conclusion", "verdict", "result", "reason"),
        *("finishreason", "stopreason", "donereason", "endreason", "cause", "code"),
        *("finalstatus", "runstatus"),
    ]
)
_GOOD: Final = frozenset(
    [
        *("ok", "okay", "success", "successful", "succeeded", "done", "complete", "completed"),
        *("finish", "finished", "end", "ended", "stop", "good", "fine", "true", "yes", "passed"),
    ]
)
MOST_VALUES: Final = 6
DEEPEST: Final = 4
_DATA: Final = frozenset({*ARGUMENTS, *RESULTS}) - {"payload", "response", "out", "r", "a", "with"}
_SENTENCE: Final = re.compile(r"\S+\s+\S+|[^\W\d_a-zA-Z]{5,}|\S{25,}")
ID: Final = re.compile(r"(?=\S*\d)\S{6,}")


def is_failing_word(value: object) -> bool:
    """Return whether a word means a failed state, in any known language."""
    if not isinstance(value, str) or len(value) > 80:
        return False
    word = english(value)
    return bool(ERROR_WORDS.intersection(words_of([word]))) or has_failure_sign({"status": word})


def sign_of(name: str, value: Any) -> bool | None:
    """Return True if a field reports success, False if it reports failure, None if neither.

    Args:
        name: the name of the field.
        value: the value as received.
    """
    kind = kind_of(name)
    if kind == "" or value is None:
        return None
    if kind == "flag":
        return _flag(value)
    if isinstance(value, str) and kind in ("code", "state") and is_a_name(value) and not value.isdigit():
        return sign_of_word(value)
    if kind == "code" and isinstance(value, int) and not isinstance(value, bool):
        if value == 0 or 200 <= value < 300:
            return True
        return False if has_failure_sign({"code": value}) else None
    if kind == "error":
        return False if has_failure_sign({english(name): value}) else _nothing(value)
    return None


@lru_cache(maxsize=8192)
def kind_of(name: str) -> str:
    """Return `flag`, `code`, `state` or `error` for the name of a field; empty for any other name."""
    bare = plain(name)
    if bare in _FLAGS:
        return "flag"
    if bare in _CODES:
        return "code"
    if bare in _STATES:
        return "state"
    is_error = bool(ERROR_WORDS.intersection(words_of([name]))) or is_failing_name(english(name))
    return "error" if is_error else ""


def _flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    return sign_of_word(value) if isinstance(value, str) and is_a_name(value) else None


def sign_of_word(value: str) -> bool | None:
    """Return whether a word means success or failure; None if it means neither."""
    if is_failing_word(value) or value.lower() in ("false", "no"):
        return False
    return True if _GOOD.intersection(words_of([value])) else None


def _nothing(value: Any) -> bool | None:
    return True if value in (False, "", 0, [], {}) else None


def has_sentence(value: Any, but: Iterable[Place] = ()) -> bool:
    """Return whether a message contains a text for people outside of the places in `but`."""
    return any(
        isinstance(text, str) and _SENTENCE.search(text) and not ID.fullmatch(text) and place not in but
        for place, text in places_in(value)
    )


def may_show_outcome(place: Place) -> bool:
    """Return whether a field may report success or failure, by its name and place."""
    is_near = 0 < len(place) <= DEEPEST and isinstance(place[-1], str)
    return is_near and bool(kind_of(str(place[-1]))) and not is_tool_data(place)


def is_tool_data(place: Place) -> bool:
    """Return whether a place is inside the arguments or the result of a tool call."""
    return any(isinstance(step, str) and plain(step) in _DATA for step in place[:-1])


def condition_of(place: Place, values: list[Any]) -> Condition:
    """Return a condition for the values of a field: a few flags, numbers or words, else its presence."""
    seen = list({(type(value), str(value)): value for value in values}.values())
    if len(seen) <= MOST_VALUES and all(isinstance(value, bool | int) or is_a_name(value) for value in seen):
        return Condition(place, seen[0] if len(seen) == 1 else tuple(seen), is_outcome=True)
    return Condition(place, PRESENT, is_outcome=True)
