"""Durations and sizes: `200ms`, `5s`, `2m`, `1h` and `64KiB`, `10MiB`.

A bare number is seconds or bytes. Inside the program they are floats of seconds and ints of bytes.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from streamweir_gateway.config.diagnostics import InvalidValue, not_this

__all__ = ["OFF", "format_duration", "format_size", "parse_duration", "parse_size"]

OFF: Final = "off"

_SECONDS: Final = {"h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_BYTES: Final = {"GiB": 1024**3, "MiB": 1024**2, "KiB": 1024, "B": 1}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?")
_SIZE: Final = re.compile(r"([0-9]{1,18})(B|KiB|MiB|GiB)?")
_MOST_HOURS: Final = 1_000_000
"""114 years; more overflows the clocks of event loops."""
_MOST_GIBIBYTES: Final = 1_000_000
_DURATION_RULE: Final = "must be a duration such as 200ms, 5s, 2m or 1h"
_SIZE_RULE: Final = "must be a size such as 64KiB or 10MiB"


def parse_duration(value: object) -> float:
    """Return the seconds that `value` stands for: more than 0.

    Raises:
        InvalidValue: it is no duration.
    """
    match = None if isinstance(value, bool) else _DURATION.fullmatch(_plain(value))
    if match is None:
        raise InvalidValue(_DURATION_RULE, _not(value))
    seconds = float(Decimal(match[1]) * _SECONDS[match[2] or "s"])
    if not 0 < seconds <= _MOST_HOURS * 3600:
        raise InvalidValue(f"must be more than 0 and at most {_MOST_HOURS}h", _not(value))
    return seconds


def parse_size(value: object) -> int:
    """Return the bytes that `value` stands for: at least 1.

    Raises:
        InvalidValue: it is no size.
    """
    match = None if isinstance(value, bool) else _SIZE.fullmatch(_plain(value))
    if match is None:
        raise InvalidValue(_SIZE_RULE, _not(value))
    size = int(match[1]) * _BYTES[match[2] or "B"]
    if not 0 < size <= _MOST_GIBIBYTES * 1024**3:
        raise InvalidValue(f"must be more than 0 and at most {_MOST_GIBIBYTES}GiB", _not(value))
    return size


def format_duration(seconds: float | None) -> str:
    """Return the shortest form that `parse_duration` reads back as the same number; None is `off`."""
    if seconds is None:
        return OFF
    exact = Decimal(repr(seconds))
    for unit in ("h", "m", "s", "ms"):
        count = exact / _SECONDS[unit]
        if count >= 1 and count == count.to_integral_value() and count * _SECONDS[unit] == exact:
            return f"{int(count)}{unit}"
    return f"{exact:f}s"


def format_size(size: int) -> str:
    """Return the shortest form that `parse_size` reads back as the same number."""
    unit = next(unit for unit, factor in _BYTES.items() if size % factor == 0)
    return f"{size // _BYTES[unit]}{unit}"


def _plain(value: object) -> str:
    """Return a number or a text in one notation, without an exponent."""
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}" if math.isfinite(value) else ""
    if isinstance(value, int):
        return f"{Decimal(value):f}"
    return value if isinstance(value, str) else ""


def _not(value: object) -> str:
    return "; it cannot be off" if value == OFF else not_this(value)
