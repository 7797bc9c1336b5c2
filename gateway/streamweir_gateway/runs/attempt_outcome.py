"""Describes how the response of an attempt ended; this decides how a failure reaches the client."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from streamweir.failures.upstream_refusal import UpstreamRefusal

__all__ = ["NO_OUTCOME", "AttemptOutcome"]


class AttemptOutcome(Struct, frozen=True):
    """How the response of the upstream ended."""

    refusal: UpstreamRefusal | None = None
    """The response of the upstream, if its status is an error."""
    is_clean: bool = False
    """Whether the body of the response ended properly."""


NO_OUTCOME: Final = AttemptOutcome()
