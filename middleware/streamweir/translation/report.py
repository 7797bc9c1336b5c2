"""The warnings and errors about messages that a stream has lost, and the count of those that a client got."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from streamweir.errors import WARNINGS, error_info
from streamweir.events import Error, Event, SessionEnd, Stamp, Warning
from streamweir.own_warnings import own_warning
from streamweir.stages.endings import error_event

__all__ = [
    "MAX_REPORTED_MALFORMED",
    "invalid_text_warning",
    "malformed_warning",
    "more_malformed_warning",
    "not_understood_error",
    "silence_warning",
    "unsupported_warning",
    "warns_of_more_than_repair",
    "with_own_count",
]

MAX_REPORTED_MALFORMED: Final = 10
"""The most malformed events that get a warning each; one warning at the end counts the others."""

_REPAIRS: Final = frozenset(code for code, row in WARNINGS.items() if row.reports_repair)
"""Codes of warnings about repairs, which are not made in copied frames."""


def invalid_text_warning() -> Warning:
    """Return the warning about text that is no valid Unicode; it is sent once per stream."""
    return own_warning("UPSTREAM_INVALID_TEXT")


def silence_warning(unknown: int) -> Warning:
    """Return the warning about a stream that ended well without an answer.

    Args:
        unknown: the number of its events that no rule of the dialect knew.
    """
    message = (
        "The answer ended, but nothing in it was understood."
        if unknown
        else "The answer ended without saying anything."
    )
    warning = own_warning("END_UNCONFIRMED", message)
    warning.is_not_understood = unknown > 0 or None
    return warning


def not_understood_error() -> Error:
    """Return the error that replaces the warning about silence for clients whose protocol has no warnings."""
    return error_event(error_info("UPSTREAM_INVALID_RESPONSE"))


def malformed_warning() -> Warning:
    """Return the warning about one event that could not be read."""
    return own_warning("UPSTREAM_MALFORMED_EVENT")


def more_malformed_warning(malformed: int) -> Warning | None:
    """Return the warning that counts the malformed events beyond the first ones; None if there are none."""
    more = malformed - MAX_REPORTED_MALFORMED
    if more <= 0:
        return None
    message = f"{more} more parts of the answer could not be read and were left out."
    return own_warning("UPSTREAM_MALFORMED_EVENT", message)


def unsupported_warning(unsupported: Counter[str]) -> Warning | None:
    """Return the warning about events that the client's protocol has no place for; None if there are none."""
    if not unsupported:
        return None
    counted = ", ".join(f"{number} x {kind}" for kind, number in sorted(unsupported.items()))
    return own_warning("LOSSY_CONVERSION", counted=counted)


def warns_of_more_than_repair(event: Event) -> bool:
    """Return whether an event is a warning, other than one about a repair."""
    return isinstance(event, Warning) and event.message_code not in _REPAIRS


def with_own_count(event: Event, stamp: Stamp, added: int) -> Event:
    """Return an end event whose summary counts the events that the client got.

    Args:
        event: the event.
        stamp: its stamp in the stream.
        added: how many more events the client got than the stream has.
    """
    match event:
        case SessionEnd(summary={"events": int(events), **summary}) if events == stamp.sequence + 1:
            own = {**summary, "events": events + added}
            return msgspec.structs.replace(event, summary=own)
    return event
