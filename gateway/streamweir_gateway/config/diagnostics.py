"""Quotes wrong values of the configuration in messages, and suggests known values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streamweir.errors import did_you_mean

__all__ = ["InvalidValue", "UnclearValue", "not_this", "quoted", "suggestion"]

MAX_QUOTED: Final = 80
"""The most characters of a value in a message, quotes included."""

MAX_COMPARED: Final = 500
"""The most known names that are compared with an unknown name."""
MAX_LISTED: Final = 50
"""The most known names that a message lists."""


class InvalidValue(ValueError):
    """A value that cannot be used. Its reader raises this; the caller adds the place in the file."""

    def __init__(self, message: str, detail: str = "") -> None:
        self.message = message
        self.detail = detail
        super().__init__(message)


class UnclearValue(InvalidValue):
    """A valid value that probably means another one. The message asks for the intended value."""


def quoted(value: object) -> str:
    """Return a value as a message shows it: in quotes, and cut if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 4]}...'"


def not_this(value: object) -> str:
    """Return the part of a message that quotes a wrong value; empty for a mapping or a list."""
    quotable = isinstance(value, str | int | float) and not isinstance(value, bool)
    return f", not {quoted(value)}" if quotable else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the most similar known name, or all names.

    The numbers of known names that are compared and shown are limited, as a file may have many unknown names.
    """
    names = sorted(known)
    near = did_you_mean(name, names[:MAX_COMPARED])
    if near or len(names) <= MAX_LISTED:
        return near or f" (known: {', '.join(names) or 'none'})"
    return f" (known: {', '.join(names[:MAX_LISTED])} and {len(names) - MAX_LISTED} more)"
