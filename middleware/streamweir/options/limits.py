"""Bounds of one stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.errors import ConfigurationError, did_you_mean
from streamweir.options.sizes import parse_size

__all__ = ["EVENT_BYTES", "REQUEST_BYTES", "Limits"]

EVENT_BYTES: Final = 8 << 20
"""The default bound, in bytes, of one event, and of each part of a stream kept until it is complete."""


REQUEST_BYTES: Final = 10 << 20
"""The default bound, in bytes, of a request body that is read."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one stream; a stream that exceeds one ends with `STREAM_LIMIT_EXCEEDED`.

    Attributes:
        event_bytes: the most bytes of one event of the decoded body.
        stream_bytes: the most bytes of the whole decoded body.
        malformed_events: the most events that cannot be read.
        request_bytes: the most bytes of a request body that is read (the middleware, with
            `request="mapped"`).
    """

    event_bytes: int = EVENT_BYTES
    stream_bytes: int = 256 << 20
    malformed_events: int = 100
    request_bytes: int = REQUEST_BYTES

    @classmethod
    def of(cls, limits: Limits | Mapping[str, Any] | None) -> Limits:
        """Return `limits` checked; a size is a number of bytes, or text such as `"1MiB"`.

        Raises:
            ConfigurationError: there is an unknown name, or a value that is not a size.
        """
        if limits is None:
            return _USUAL
        if isinstance(limits, Limits):
            return limits
        if not isinstance(limits, Mapping):
            raise ConfigurationError(f"limits must be a mapping, not {limits!r}")
        return cls(**{name: _parse(name, value) for name, value in limits.items()}) if limits else _USUAL


_USUAL: Final = Limits()


def _parse(name: str, value: Any) -> int:
    known = Limits.__struct_fields__
    if name not in known:
        hint = did_you_mean(name, known) or f" (known: {', '.join(known)})"
        raise ConfigurationError(f"unknown limit {name!r}{hint}")
    if name != "malformed_events":
        return parse_size(value, name=f"limits.{name}")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"malformed_events must be a number of 0 or more, not {value!r}")
    return value
