"""The timeouts of a stream.

Source: the configuration contract (`timeouts`): names, values and defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from streamweir.errors import ConfigurationError, did_you_mean
from streamweir.options.durations import Duration, optional_duration

__all__ = ["CLOCK_ORDER", "NO_TIMEOUTS", "Timeouts"]

CLOCK_ORDER: Final = (("connect", "first_event"), ("first_event", "total"), ("idle", "total"))
"""Pairs of clocks: the first one may not run longer than the second."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """The time limits of a stream, in seconds. None means no limit.

    Attributes:
        connect: the time until the connection is established.
        first_event: the time from sending the request to the first event; comments do not count.
        idle: the time between two reads after the first event.
        total: the time for the whole stream.
        waiting: how long an open connection may be silent while a person is asked; `idle` does not run then.
    """

    connect: float | None = 5.0
    first_event: float | None = 60.0
    idle: float | None = 120.0
    total: float | None = None
    waiting: float | None = 600.0

    @classmethod
    def of(cls, given: Timeouts | Mapping[str, Duration | None] | str | None) -> Timeouts:
        """Return `given` checked: a clock that is not given keeps its default, `"off"` turns all clocks off.

        Raises:
            ConfigurationError: there is an unknown name, a value that is not a duration, or a clock that is
                longer than one that contains it.
        """
        if isinstance(given, cls):
            return given
        if given == "off":
            return NO_TIMEOUTS
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(f"timeouts must be a mapping or 'off', not {given!r}")
        known = cls.__struct_fields__
        named: dict[str, float | None] = {}
        for name, value in (given or {}).items():
            if name not in known:
                raise ConfigurationError(f"unknown timeout {name!r}{did_you_mean(name, known)}")
            named[name] = optional_duration(value, name=f"timeouts.{name}")
        _check_order(named)
        return cls(**named)


NO_TIMEOUTS: Final = Timeouts(connect=None, first_event=None, idle=None, waiting=None)


def _check_order(named: Mapping[str, float | None]) -> None:
    """Refuse clocks that contradict each other; a default longer than a given clock never runs out."""
    for shorter, longer in CLOCK_ORDER:
        first, second = named.get(shorter), named.get(longer)
        if first is not None and second is not None and first > second:
            raise ConfigurationError(f"timeouts.{shorter} must not be longer than timeouts.{longer}")
