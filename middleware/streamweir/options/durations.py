"""Durations as options have them: seconds, or text such as `200ms`, `5s`, `2m`, `1h`.

Source: the configuration contract (durations).
"""

from __future__ import annotations

import math
import re
from typing import Final, TypeAlias

from streamweir.errors import ConfigurationError

__all__ = ["Duration", "optional_duration", "parse_duration"]

Duration: TypeAlias = float | str

_DURATION: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*(ms|s|m|h)?", re.ASCII)
_SECONDS: Final = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(value: Duration, *, name: str = "duration") -> float:
    """Return the seconds that `value` stands for: more than 0, and finite.

    Raises:
        ConfigurationError: `value` is no duration; the message says of which option (`name`).
    """
    seconds = 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        seconds = float(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds < math.inf:
        raise ConfigurationError(f"{name} must be a duration such as 200ms, 5s, 2m or 1h, not {value!r}")
    return seconds


def optional_duration(value: Duration | None, *, name: str = "duration") -> float | None:
    """Return `value` in seconds; None for what is turned off (None or `off`).

    Raises:
        ConfigurationError: `value` is neither.
    """
    return None if value is None or value == "off" else parse_duration(value, name=name)
