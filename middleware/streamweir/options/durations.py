"""Durations: a number of seconds, or text such as `200ms`, `5s`, `2m`, `1h`.

One grammar for options, the configuration and the command line. Source: the
configuration contract (durations).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final, TypeAlias

from streamweir.errors import ConfigurationError

__all__ = [
    "DURATION_PATTERN",
    "OFF",
    "Duration",
    "format_duration",
    "optional_duration",
    "parse_duration",
    "seconds_of",
]

Duration: TypeAlias = float | str

OFF: Final = "off"
DURATION_PATTERN: Final = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?"
"""A regular expression of the text form: the count, then the unit. JSON Schemas contain it too."""

_DURATION: Final = re.compile(DURATION_PATTERN)
_SECONDS: Final = {"h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_MAX_HOURS: Final = 1_000_000
"""114 years; longer durations overflow the clocks of event loops."""
_RULE: Final = "must be a duration such as 200ms, 5s, 2m or 1h"


def seconds_of(value: object) -> float:
    """Return a duration in seconds, which is more than 0.

    Raises:
        ValueError: `value` is not a duration; the message states the rule, without the value.
    """
    match = None if isinstance(value, bool) else _DURATION.fullmatch(_decimal_text(value))
    if match is None:
        raise ValueError(_RULE)
    seconds = float(Decimal(match[1]) * _SECONDS[match[2] or "s"])
    if not 0 < seconds <= _MAX_HOURS * 3600:
        raise ValueError(f"must be more than 0 and at most {_MAX_HOURS}h")
    return seconds


def parse_duration(value: Duration, *, name: str = "duration") -> float:
    """Return the value of the option `name` in seconds, which is more than 0.

    Raises:
        ConfigurationError: `value` is not a duration.
    """
    try:
        return seconds_of(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}, not {value!r}") from None


def optional_duration(value: Duration | None, *, name: str = "duration") -> float | None:
    """Return `value` in seconds; None if it is turned off (None or `off`).

    Raises:
        ConfigurationError: `value` is neither a duration nor turned off.
    """
    return None if value is None or value == OFF else parse_duration(value, name=name)


def format_duration(seconds: float | None) -> str:
    """Return the shortest form that `parse_duration` reads back as the same number; None is `off`."""
    if seconds is None:
        return OFF
    exact = Decimal(repr(seconds))
    for unit, factor in _SECONDS.items():
        count = exact / factor
        if count >= 1 and count == count.to_integral_value() and count * factor == exact:
            return f"{int(count)}{unit}"
    return f"{exact:f}s"


def _decimal_text(value: object) -> str:
    """Return a number or a text in decimal notation, without an exponent; empty for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}" if math.isfinite(value) else ""
    return f"{Decimal(value):f}" if isinstance(value, int) else ""
