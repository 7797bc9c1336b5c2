"""Heartbeats: the silence after which one is sent, and whether clients of old dialects get heartbeats.

Source: the configuration contract (`heartbeat`); the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from typing import Final

from streamweir.options.durations import Duration, optional_duration

__all__ = ["AUTO", "AUTO_HEARTBEAT", "AutoHeartbeat", "parse_heartbeat"]

AUTO: Final = "auto"


class AutoHeartbeat(float):
    """Seconds of silence before a heartbeat, the default if neither a file nor an application sets a value.

    Clients of old dialects, whose pages do not expect heartbeats, get no default ones unless the upstream's
    stream has contained a heartbeat.
    """


AUTO_HEARTBEAT: Final = AutoHeartbeat(15.0)


def parse_heartbeat(value: Duration | None) -> float | None:
    """Return the value of the option `heartbeat` in seconds; None if it is turned off.

    Raises:
        ConfigurationError: `value` is neither a duration, `auto` nor `off`.
    """
    return AUTO_HEARTBEAT if value == AUTO else optional_duration(value, name="heartbeat")
