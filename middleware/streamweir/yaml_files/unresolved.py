"""The placeholder for a value of a YAML file that is not known."""

from __future__ import annotations

__all__ = ["Unresolved"]


class Unresolved(str):
    """Marks a value of a file that is unknown. Checks of types accept it, and its text is never parsed.

    The reader of YAML inserts it for an unsupported tag, the configuration for a missing variable.
    """

    __slots__ = ()
