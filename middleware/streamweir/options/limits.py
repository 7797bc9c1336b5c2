"""Bounds of one stream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.errors import ConfigurationError, did_you_mean

__all__ = ["Limits", "parse_size"]

_SIZE: Final = re.compile(r"(\d{1,15})\s*(B|KiB|MiB|GiB)?")
_UNITS: Final = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one stream may take. Bytes are decoded bytes from the upstream."""

    event_bytes: int = 8 << 20
    stream_bytes: int = 256 << 20
    malformed_events: int = 100

    @classmethod
    def of(cls, limits: Limits | Mapping[str, Any] | None) -> Limits:
        """Return `limits` checked; sizes may be bytes or text such as `1MiB`.

        Raises:
            ConfigurationError: an unknown name or a value that is no size.
        """
        if isinstance(limits, Limits):
            return limits
        if limits is not None and not isinstance(limits, Mapping):
            raise ConfigurationError(f"limits must be a mapping, not {limits!r}")
        return cls(**{name: _parse(name, value) for name, value in limits.items()}) if limits else _USUAL


_USUAL: Final = Limits()


def _parse(name: str, value: Any) -> int:
    known = Limits.__struct_fields__
    if name not in known:
        raise ConfigurationError(f"unknown limit {name!r}{did_you_mean(name, known)}")
    if name != "malformed_events":
        return parse_size(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"malformed_events must be a number of 0 or more, not {value!r}")
    return value


def parse_size(value: int | str) -> int:
    """Return a size in bytes (`4096`, `"64KiB"`, `"1MiB"`).

    Raises:
        ConfigurationError: `value` is no positive size.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size <= 0:
        raise ConfigurationError(f"not a size: {value!r} (examples: 4096, 64KiB, 1MiB)")
    return size
