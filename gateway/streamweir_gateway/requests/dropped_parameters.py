"""Logs model parameters that an agent cannot take. Each parameter is logged once, not with each request.

Many clients set such parameters always, so the stream does not report them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

__all__ = ["DROPPED_PARAMETERS", "DroppedParameters"]

logger = logging.getLogger("streamweir.gateway")


class DroppedParameters:
    """Remembers the dropped parameters that were logged, by client protocol and upstream dialect."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], set[str]] = {}

    def report(self, protocol: str, dialect: str, names: Iterable[str]) -> None:
        """Log those parameters that have not been logged yet.

        Args:
            protocol: the protocol of the client.
            dialect: the dialect of the upstream.
            names: the names of the parameters, each from a fixed list.
        """
        logged = self._logged.setdefault((protocol, dialect), set())
        new = [name for name in names if name not in logged]
        if not new:
            return
        logged.update(new)
        logger.warning(
            "parameters of %s have no place in requests to %s and are dropped: %s",
            protocol,
            dialect,
            ", ".join(new),
        )


DROPPED_PARAMETERS = DroppedParameters()
"""The instance of this process. It outlives a reload of the configuration, so that no line is repeated."""
