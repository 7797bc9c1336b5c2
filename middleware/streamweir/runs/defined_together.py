"""Tells whether a faster method may be called instead of the method that an interface defines."""

from __future__ import annotations

__all__ = ["defines_together"]


def defines_together(instance: object, method: str, faster: str) -> bool:
    """Return whether the class that defines `method` also defines `faster`.

    If a subclass overrides only `method`, the inherited `faster` would bypass the override.

    Args:
        instance: the instance of the class.
        method: the name of the method of the interface.
        faster: the name of the faster method.
    """
    if method in getattr(instance, "__dict__", ()):
        return False
    for cls in type(instance).__mro__:
        if method in vars(cls):
            return faster in vars(cls)
    return False
