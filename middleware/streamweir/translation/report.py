"""What a stream has lost on its way, reported in warnings."""

from __future__ import annotations

from collections import Counter
from typing import Final

from streamweir.events import Warning
from streamweir.own_warnings import own_warning

__all__ = [
    "MAX_REPORTED_MALFORMED",
    "invalid_text_warning",
    "malformed_warning",
    "more_malformed_warning",
    "unsupported_warning",
]

MAX_REPORTED_MALFORMED: Final = 10
"""So many malformed events are reported one by one; of others the number, at the end."""


def invalid_text_warning() -> Warning:
    """Return what is reported, once, of text that is no valid Unicode."""
    return own_warning("UPSTREAM_INVALID_TEXT")


def malformed_warning() -> Warning:
    """Return what is reported of one event that could not be read."""
    return own_warning("UPSTREAM_MALFORMED_EVENT")


def more_malformed_warning(malformed: int) -> Warning | None:
    """Return what is reported at the end where so many events could not be read; None if all were."""
    more = malformed - MAX_REPORTED_MALFORMED
    if more <= 0:
        return None
    message = f"{more} more parts of the answer could not be read and were left out."
    return own_warning("UPSTREAM_MALFORMED_EVENT", message)


def unsupported_warning(unsupported: Counter[str]) -> Warning | None:
    """Return what is reported of events that the client's protocol could not say; None if there are none."""
    if not unsupported:
        return None
    counted = ", ".join(f"{number} x {kind}" for kind, number in sorted(unsupported.items()))
    return own_warning("LOSSY_CONVERSION", counted=counted)
