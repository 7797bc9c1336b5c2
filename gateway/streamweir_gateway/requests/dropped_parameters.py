"""Logs parameters for a model that an agent cannot take: once for each, not with each request.

Clients set them without being asked; the stream does not report them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

__all__ = ["DROPPED_PARAMETERS", "DroppedParameters"]

logger = logging.getLogger("streamweir.gateway")


class DroppedParameters:
    """Remembers the dropped parameters that were logged, by protocol and dialect of the upstream."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], set[str]] = {}

    def report(self, protocol: str, dialect: str, names: Iterable[str]) -> None:
        """Log the parameters that were not logged yet.

        Args:
            protocol: the protocol of the client.
            dialect: the dialect of the upstream.
            names: of parameters, each out of a list that no client extends.
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
"""One for the process: a configuration that is read again repeats no line."""
