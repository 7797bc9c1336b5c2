"""Finds out whether a subclass of a decoder or an encoder defines methods."""

from __future__ import annotations

__all__ = ["defines_methods"]


def defines_methods(cls: type) -> bool:
    """Return whether the class itself defines a method or a property."""
    return any(callable(value) or isinstance(value, classmethod | property) for value in vars(cls).values())
