"""Decides whether an upstream's error event reports an overload, so that a later attempt may succeed.

Source: the configuration contract (the commit point): an HTTP 503 or 529 in the event, `overloaded_error` of
Anthropic, `UNAVAILABLE` of Google's APIs; `slow_down` and `server_is_overloaded` of OpenAI.
"""

from __future__ import annotations

from typing import Final

from streamweir.classification.failures import snake_case

__all__ = ["is_overload"]

_STATUSES: Final = frozenset({503, 529})
_NAMES: Final = frozenset(
    {
        *("overloaded", "overloaded_error", "model_overloaded", "model_overloaded_error"),
        *("engine_overloaded", "engine_overloaded_error", "server_overloaded", "server_is_overloaded"),
        *("unavailable", "service_unavailable", "service_unavailable_error", "service_unavailable_exception"),
        "slow_down",
    }
)


def is_overload(code: object = None, status: object = None) -> bool:
    """Return whether an error event reports that its upstream is overloaded.

    Args:
        code: the machine code of the event: a name, or an HTTP status as a number or in digits.
        status: the HTTP status in a field of the event, if it has such a field.
    """
    if _number(status) in _STATUSES or _number(code) in _STATUSES:
        return True
    return isinstance(code, str) and len(code) <= 128 and snake_case(code) in _NAMES


def _number(value: object) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        return int(value)
    return value if type(value) is int else None
