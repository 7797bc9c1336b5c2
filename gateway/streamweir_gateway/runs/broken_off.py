"""Raised to end an exchange whose response was left unfinished within its body."""

from __future__ import annotations

__all__ = ["BrokenOff"]


class BrokenOff(Exception):
    """The response was left unfinished within its body. The server then closes the connection."""
