"""The placeholder for a value of a YAML file that is not known."""

from __future__ import annotations

__all__ = ["Unresolved"]


class Unresolved(str):
    """Stands for a value that is not known: it is accepted in place of any value, and its text is not
    read.

    The reader of YAML inserts it for an unsupported tag, the configuration for a missing variable.
    """

    __slots__ = ()
