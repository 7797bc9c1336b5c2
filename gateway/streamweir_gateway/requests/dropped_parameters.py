"""Logs the model parameters that requests to an upstream cannot hold, once for each pair of dialects.

Clients send such parameters by default, so they are not warned about them in streams.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

__all__ = ["DROPPED_PARAMETERS", "DroppedParameters"]

logger = logging.getLogger("streamweir.gateway")


class DroppedParameters:
    """The parameters that were logged, by the client's protocol and the upstream's dialect."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, str], set[str]] = {}

    def report(self, protocol: str, dialect: str, names: Iterable[str]) -> None:
        """Log the parameters that were not logged yet.

        Args:
            protocol: of the client.
            dialect: of the upstream.
            names: of parameters, all from a fixed list, so that the memory is bounded.
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
"""The instance of the process: a reload of the configuration logs nothing again."""
