"""Quotes wrong values of the configuration in messages, and suggests others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streamweir.errors import did_you_mean

__all__ = ["InvalidValue", "UnclearValue", "not_this", "quoted", "suggestion"]

MAX_QUOTED: Final = 80
"""Characters of a value in a message, quotes included."""

MAX_COMPARED: Final = 500
"""Known names among which the nearest to an unknown one is sought."""
MAX_LISTED: Final = 50
"""Known names in a message."""


class InvalidValue(ValueError):
    """A value that cannot be used, raised by what reads it and placed by what knows the file."""

    def __init__(self, message: str, detail: str = "") -> None:
        self.message = message
        self.detail = detail
        super().__init__(message)


class UnclearValue(InvalidValue):
    """A valid value that probably means something else: the message asks for the intended one."""


def quoted(value: object) -> str:
    """Return a value as a message shows it: in quotes, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 4]}...'"


def not_this(value: object) -> str:
    """Return the detail that quotes a wrong value, if it is a single one."""
    quotable = isinstance(value, str | int | float) and not isinstance(value, bool)
    return f", not {quoted(value)}" if quotable else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return what to say after an unknown name: the known one nearest to it, or else what there is.

    Of many known names only some are compared and fewer shown: a file may hold many unknown ones as well.
    """
    names = sorted(known)
    near = did_you_mean(name, names[:MAX_COMPARED])
    if near or len(names) <= MAX_LISTED:
        return near or f" (known: {', '.join(names) or 'none'})"
    return f" (known: {', '.join(names[:MAX_LISTED])} and {len(names) - MAX_LISTED} more)"
