"""The end of an exchange whose response was left within its body."""

from __future__ import annotations

__all__ = ["BrokenOff"]


class BrokenOff(Exception):
    """The response has been left within its body; the server closes the connection when the app raises."""
