"""The end of an exchange whose client has left."""

from __future__ import annotations

__all__ = ["ClientGone"]


class ClientGone(Exception):
    """The client has left, or was cut off, and nothing goes on without it."""
