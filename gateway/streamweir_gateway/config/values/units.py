"""Durations and sizes in the file: read by the library's grammar, with messages for users of a file.

A number without a unit is in seconds or bytes. In code, durations are floats in seconds, sizes ints in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from streamweir.options.durations import DURATION_PATTERN, format_duration, seconds_of
from streamweir.options.heartbeats import AUTO, AUTO_HEARTBEAT
from streamweir.options.sizes import SIZE_PATTERN, bytes_of
from streamweir_gateway.config.diagnostics import InvalidValue, UnclearValue, not_this
from streamweir_gateway.config.values.scalars import Scalar, is_off, or_off

__all__ = ["DURATION", "DURATION_OR_OFF", "HEARTBEAT", "SIZE", "size_from"]

Number = TypeVar("Number", int, float)


def _reader(parse: Callable[[object], Number]) -> Callable[[object], Number]:
    """Return `parse`, with its ValueError turned into `InvalidValue`."""

    def read(value: object) -> Number:
        try:
            return parse(value)
        except ValueError as error:
            detail = "; it cannot be off" if is_off(value) else not_this(value)
            raise InvalidValue(str(error), detail) from None

    return read


def size_from(minimum: str) -> Scalar:
    """Return the scalar of a size that is at least `minimum`, such as `1KiB`."""
    least = bytes_of(minimum)

    def read(value: object) -> int:
        size = _read_size(value)
        if size < least:
            raise InvalidValue(f"must be at least {minimum}")
        return size

    return Scalar(read, _SIZE_SCHEMA, stand_in=least)


def _read_duration(value: object) -> float:
    """Return a duration in seconds. A bare number over an hour is refused: it is probably in milliseconds."""
    seconds = _read_any_duration(value)
    if seconds > LONGEST_BARE and _is_bare(value):
        meant = format_duration(seconds / 1000)
        raise UnclearValue(
            "has no unit, and is over an hour in seconds: are milliseconds meant?",
            f" Write {meant}, or {value}s for so many seconds",
        )
    return seconds


def _read_heartbeat(value: object) -> float:
    return AUTO_HEARTBEAT if value == AUTO else _read_duration(value)


def _is_bare(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.strip()[-1:].isdigit())


LONGEST_BARE: Final = 3600.0
"""The most seconds that a number without a unit may mean."""

_read_any_duration = _reader(seconds_of)
_read_size = _reader(bytes_of)
_SIZE_SCHEMA: Final = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": f"^{SIZE_PATTERN}$"}]
}
_DURATION_SCHEMA: Final = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": f"^{DURATION_PATTERN}$"},
    ]
}
_HEARTBEAT_SCHEMA: Final = {"anyOf": [*_DURATION_SCHEMA["anyOf"], {"enum": [AUTO]}]}

SIZE: Final = Scalar(_read_size, _SIZE_SCHEMA, stand_in=1)
# Not a number: no comparison with another duration says that it is too long.
DURATION: Final = Scalar(_read_duration, _DURATION_SCHEMA, stand_in=float("nan"))
DURATION_OR_OFF: Final = or_off(DURATION)
HEARTBEAT: Final = or_off(Scalar(_read_heartbeat, _HEARTBEAT_SCHEMA, stand_in=AUTO_HEARTBEAT))
