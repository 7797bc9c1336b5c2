"""The facts about an attempt that decide how its failure reaches the client."""

from __future__ import annotations

from typing import Final, NamedTuple

from streamweir.failures.upstream_refusal import UpstreamRefusal

__all__ = ["NO_OUTCOME", "AttemptOutcome"]


class AttemptOutcome(NamedTuple):
    """How the response of the upstream ended."""

    refusal: UpstreamRefusal | None = None
    """The response, if its status is an error."""
    is_clean: bool = False
    """Whether its body ended properly."""


NO_OUTCOME: Final = AttemptOutcome()
