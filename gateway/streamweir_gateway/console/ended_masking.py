"""The part of a `Masking` that is the same for all streams that have ended."""

from __future__ import annotations

__all__ = ["EndedMasking"]


class EndedMasking:
    """A `Masking` that holds no entry back: no line of an ended stream goes on."""

    __slots__ = ()

    @property
    def held_since(self) -> float | None:
        """None: no entry is held back."""
        return None

    @property
    def is_within_line(self) -> bool:
        """False: no entry is held back."""
        return False

    def release(self) -> None:
        """Do nothing: no entry is held back."""
