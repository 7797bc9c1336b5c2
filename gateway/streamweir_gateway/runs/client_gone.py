"""Raised to end an exchange whose client has left."""

from __future__ import annotations

__all__ = ["ClientGone"]


class ClientGone(Exception):
    """The client has left or was cut off, and the run does not go on without it."""
