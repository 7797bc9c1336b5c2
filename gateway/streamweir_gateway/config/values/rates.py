"""Rates: a number of requests in a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import Scalar, text_schema

__all__ = ["RATE_LIMIT", "RateLimit"]

_SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_RATE: Final = re.compile(rf"([1-9][0-9]{{0,8}})/({'|'.join(_SECONDS)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A number of requests in a number of seconds, per key or per client address."""

    requests: int
    seconds: float


def _rate_limit(value: Any) -> RateLimit:
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidValue(
            "must be requests per second, minute, hour or day, such as 600/minute (1 to 999999999 of them)",
            not_this(value),
        )
    return RateLimit(requests=int(match[1]), seconds=_SECONDS[match[2]])


RATE_LIMIT: Final = Scalar(_rate_limit, text_schema(f"^{_RATE.pattern}$"), RateLimit(requests=1, seconds=1))
