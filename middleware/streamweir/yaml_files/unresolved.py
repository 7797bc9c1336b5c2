"""The stand-in for a value of a YAML file that is not known."""

from __future__ import annotations

__all__ = ["Unresolved"]


class Unresolved(str):
    """Stands for a value that is not known: accepted in place of any value, and its text is not read.

    The reader of YAML puts it where a tag is not supported, the configuration where a variable is missing.
    """

    __slots__ = ()
