"""Whether an object may be asked by a faster method in place of the one that its interface names."""

from __future__ import annotations

__all__ = ["defines_together"]


def defines_together(instance: object, method: str, faster: str) -> bool:
    """Return whether the class that defines `method` also defines `faster`.

    A subclass may replace `method` alone: the `faster` one that it inherits would then bypass the new method.

    Args:
        instance: of the class.
        method: the name of the method of the interface.
        faster: the name of the other one.
    """
    if method in getattr(instance, "__dict__", ()):
        return False
    for cls in type(instance).__mro__:
        if method in vars(cls):
            return faster in vars(cls)
    return False
