"""Sizes: a number of bytes, or text such as `512`, `64KiB`, `10MiB`.

One grammar for options, the configuration and the command line. Source: the
configuration contract (sizes).
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from streamweir.errors import ConfigurationError

__all__ = ["SIZE_PATTERN", "Size", "bytes_of", "format_size", "parse_size"]

Size: TypeAlias = int | str

SIZE_PATTERN: Final = r"([0-9]{1,18})(B|KiB|MiB|GiB)?"
"""A regular expression of the text form: the count, then the unit. JSON Schemas contain it too."""

_SIZE: Final = re.compile(SIZE_PATTERN)
_BYTES: Final = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_MAX_GIBIBYTES: Final = 1_000_000
_RULE: Final = "must be a size such as 64KiB or 10MiB"


def bytes_of(value: object) -> int:
    """Return a size in bytes, at least 1.

    Raises:
        ValueError: `value` is not a size; the message states the rule, without the value.
    """
    size = value if isinstance(value, int) and not isinstance(value, bool) else _read(value)
    if not 0 < size <= _MAX_GIBIBYTES << 30:
        raise ValueError(f"must be more than 0 and at most {_MAX_GIBIBYTES}GiB")
    return size


def parse_size(value: Size, *, name: str = "size") -> int:
    """Return the value of the option `name` in bytes, at least 1.

    Raises:
        ConfigurationError: `value` is not a size.
    """
    try:
        return bytes_of(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}, not {value!r}") from None


def format_size(size: int) -> str:
    """Return the shortest form that `parse_size` reads back as the same number."""
    unit = next(unit for unit, factor in _BYTES.items() if size % factor == 0)
    return f"{size // _BYTES[unit]}{unit}"


def _read(value: object) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(_RULE)
    return int(match[1]) * _BYTES[match[2] or "B"]
